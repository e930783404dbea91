"""A comparison of predictors as a published page: scores, heat maps, and biases by scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from inference.features.judging.engine.query import (
    FULL_COMPARISON,
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

_MAX_SCHEMES = 2000
_MAX_MAPS = 12


def publishable() -> QuerySet[Run]:
    """The runs with a stored comparison, the newest first."""
    return Run.objects.filter(kind__in=ALL_KINDS, comparison__isnull=False).only("name").order_by("-pk")


def published_page(pk: int) -> PublishedPage:
    """The published page of a comparison, by the id of its run. Raises `Comparison.DoesNotExist`."""
    row = comparison_rows().get(run=pk)
    columns = columns_of(row)
    facts = [
        PublishedFact("measurements", f"{row.n:,}", row.source),
        PublishedFact("answered by all", f"{row.common:,}"),
        PublishedFact("predictors", str(len(columns))),
        PublishedFact("schemes", f"{len(row.schemes):,}"),
    ]
    best = min((m for column in columns if (m := _mape(column)) is not None), default=None)
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
    return scores_of(column, FULL_COMPARISON).mape


def _maps(columns: Sequence[ComparedColumn]) -> Iterator[PublishedPicture]:
    """A heat map per column with answers, all with the same axes; at most `_MAX_MAPS`."""
    answering = [column for column in columns if scores_of(column, FULL_COMPARISON).n][:_MAX_MAPS]
    maps = heat_maps_of(answering, FULL_COMPARISON)
    for place, (column, heat_map) in enumerate(zip(answering, maps, strict=True), start=1):
        yield PublishedPicture(f"map-{place}", column.name, heat_map_drawing(heat_map, "cycles"), alone=False)


def _biases(row: Comparison, columns: Sequence[ComparedColumn]) -> PublishedTable:
    """The bias of each predictor by scheme, the schemes in the most experiments first."""
    biases_by_column = [{row.scheme: row for row in biases_in(column, FULL_COMPARISON)} for column in columns]
    largest_counts: dict[int, int] = {}
    for biases in biases_by_column:
        for scheme, bias in biases.items():
            largest_counts[scheme] = max(largest_counts.get(scheme, 0), bias.n)
    listed = sorted(largest_counts, key=lambda scheme: (-largest_counts[scheme], row.schemes[scheme]))[
        :_MAX_SCHEMES
    ]
    rows = []
    for scheme in listed:
        factors: list[Value] = [
            biases[scheme].factor if scheme in biases else None for biases in biases_by_column
        ]
        rows.append((row.schemes[scheme], largest_counts[scheme], *factors))
    heads = (
        PublishedColumn("Scheme", CellKind.CODE),
        PublishedColumn("Experiments", CellKind.NUMBER),
        *(PublishedColumn(column.name, CellKind.NUMBER) for column in columns),
    )
    note = "Predicted over measured cycles of the experiments with a scheme: above 1, predicted too slow."
    if len(largest_counts) > len(listed):
        note += f" The {len(listed):,} of {len(largest_counts):,} schemes in most experiments."
    return PublishedTable("schemes", "Bias by scheme", heads, tuple(rows), note)
