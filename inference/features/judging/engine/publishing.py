"""A comparison of predictors as a published page: scores, heat maps, and biases by scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from inference.features.judging.engine.query import (
    EVERYTHING,
    ViewQuestion,
    biases_in,
    columns_of,
    comparison_rows,
    heat_maps_of,
    scores_of,
)
from inference.features.judging.engine.request import ALL_KINDS
from inference.features.judging.engine.views import VIEWS
from inference.figures.svg import heat_map_drawing
from inference.models import ComparedColumn, Comparison, Run
from inference.storage.instruction_sets import code_isa
from inference.web.published_page import (
    CellKind,
    PublishedColumn,
    PublishedFact,
    PublishedKind,
    PublishedPage,
    PublishedPicture,
    PublishedTable,
    Value,
)

_MOST_SCHEMES = 2000
_MOST_MAPS = 12


def publishable() -> QuerySet[Run]:
    """Runs whose comparisons can be published, the newest first."""
    return Run.objects.filter(kind__in=ALL_KINDS, comparison__isnull=False).only("name").order_by("-pk")


def published_page(pk: int) -> PublishedPage:
    """Of a comparison, by the number of its run. Raises `Comparison.DoesNotExist`."""
    row = comparison_rows().get(run=pk)
    columns = columns_of(row)
    facts = [
        PublishedFact("measurements", f"{row.n:,}", row.source),
        PublishedFact("answered by all", f"{row.common:,}"),
        PublishedFact("predictors", str(len(columns))),
        PublishedFact("schemes", f"{len(row.schemes):,}"),
    ]
    best = min((m for one in columns if (m := _mape(one)) is not None), default=None)
    if best is not None:
        facts.append(PublishedFact("smallest MAPE", f"{best:.1f} %"))
    scores = VIEWS["scores"].tables(ViewQuestion(row, columns, columns[0]))
    isa = code_isa(None) if row.isa is None else row.isa.name
    return PublishedPage(
        PublishedKind.COMPARISON,
        row.run.name,
        f"comparison of predictors · {isa} · {row.made:%Y-%m-%d}",
        tuple(facts),
        (*scores, *_maps(columns), _biases(row, columns)),
    )


def _mape(column: ComparedColumn) -> float | None:
    return scores_of(column, EVERYTHING).mape


def _maps(columns: Sequence[ComparedColumn]) -> Iterator[PublishedPicture]:
    """A heat map of each that answered, on axes that all have in common."""
    drawn = [column for column in columns if scores_of(column, EVERYTHING).n][:_MOST_MAPS]
    maps = heat_maps_of(drawn, EVERYTHING)
    for place, (column, found) in enumerate(zip(drawn, maps, strict=True), start=1):
        yield PublishedPicture(f"map-{place}", column.name, heat_map_drawing(found, "cycles"), alone=False)


def _biases(row: Comparison, columns: Sequence[ComparedColumn]) -> PublishedTable:
    """For each scheme by which factor each predictor errs, those that many experiments have first."""
    found = [{bias.scheme: bias for bias in biases_in(column, EVERYTHING)} for column in columns]
    seen: dict[int, int] = {}
    for biases in found:
        for scheme, bias in biases.items():
            seen[scheme] = max(seen.get(scheme, 0), bias.n)
    shown = sorted(seen, key=lambda scheme: (-seen[scheme], row.schemes[scheme]))[:_MOST_SCHEMES]
    rows = []
    for scheme in shown:
        factors: list[Value] = [biases[scheme].factor if scheme in biases else None for biases in found]
        rows.append((row.schemes[scheme], seen[scheme], *factors))
    heads = (
        PublishedColumn("Scheme", CellKind.CODE),
        PublishedColumn("Experiments", CellKind.NUMBER),
        *(PublishedColumn(column.name, CellKind.NUMBER) for column in columns),
    )
    note = "Predicted over measured cycles of the experiments with a scheme: above 1, predicted too slow."
    if len(seen) > len(shown):
        note += f" The {len(shown):,} of {len(seen):,} schemes in most experiments."
    return PublishedTable("schemes", "Bias by scheme", heads, tuple(rows), note)
