"""The tables of a comparison as CSV: scores, biases by scheme, and all answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.text import slugify

from inference.core.experiment import Experiment
from inference.core.judging.compared_points import Points, PointSelection, SchemeBias
from inference.core.metrics import Scores, Unit
from inference.core.tables import ExperimentTable
from inference.features.judging.comparisons.query import (
    biases_in,
    columns_of,
    comparison_rows,
    key_of,
    looked,
    numbers_of,
    schemes_found,
    scores_of,
    selected,
)
from inference.features.judging.comparisons.rows import ColumnCycles
from inference.formats.csv_cells import cell, rows_text, written
from inference.formats.provenance import head_of
from inference.isa.search import SearchError
from inference.models import ComparedColumn, Comparison, InstructionScheme
from inference.web.file_answers import table_answer
from inference.web.requests import one_of, whole_number

_LINES = 2000
"""Lines of answers made at once."""


def score_table(found: Iterable[tuple[ComparedColumn, Scores]], of: int, unit: Unit) -> str:
    """A line per predictor; `of`: how many measurements there are, which `coverage` is a share of."""
    head = ("predictor", "kind", "unit", "n", "of", "coverage", "mape", "pearson", "kendall", "error")
    lines = [
        (
            column.name,
            column.kind,
            unit.value,
            scores.n,
            of,
            scores.n / of if of else None,
            scores.mape,
            scores.pearson,
            scores.kendall,
            column.error or None,
        )
        for column, scores in found
    ]
    return written(head, lines)


def scheme_table(schemes: Sequence[str], biases: Sequence[SchemeBias]) -> str:
    """A line per scheme: by which factor its experiments are predicted too slow (> 1) or too fast."""
    head = ("scheme", "n", "factor", "factor_alone", "free")
    return written(head, [(schemes[one.scheme], one.n, one.factor, one.alone, one.free) for one in biases])


def answer_lines(
    points: Points, table: ExperimentTable, names: Sequence[str], answers: Sequence[ColumnCycles]
) -> Iterator[str]:
    """Pieces of a file with a line per measurement: cycles measured and said, nothing where nothing is."""
    yield written(("experiment", "instructions", "measured", *names), [])
    for start in range(0, len(points), _LINES):
        rows = range(start, min(start + _LINES, len(points)))
        columns = [one.cycles[start : rows.stop].tolist() for one in answers]
        lines = [
            (
                experiment_text(table, at),
                int(points.lengths[at]),
                float(points.cycles[at]),
                *(None if math.isnan(column[at - start]) else column[at - start] for column in columns),
            )
            for at in rows
        ]
        yield rows_text(map(cell, line) for line in lines)


def experiment_text(table: ExperimentTable, at: int) -> str:
    """An experiment as files of experiments write it: `2*add …; imul …`."""
    entries = slice(int(table.offsets[at]), int(table.offsets[at + 1]))
    terms = zip(table.scheme[entries].tolist(), table.count[entries].tolist(), strict=True)
    return str(Experiment(tuple((table.schemes[scheme], count) for scheme, count in terms)))


# What of a comparison an address asks for: unit, experiments, predictor.


WITH, ONLY = "with", "only"
AMONG = ((WITH, "contain such a scheme"), (ONLY, "have no other scheme"))


@dataclass(frozen=True)
class ComparisonSelection:
    """A part of the experiments, and the unit that it is shown in."""

    selection: PointSelection
    unit: Unit


def choice_of(request: HttpRequest, row: Comparison) -> ComparisonSelection:
    """What the address says. Raises `BadRequest`, and `SearchError` for a search that cannot be read."""
    q, pinned = _search(request), pinned_scheme(request, row)
    schemes = schemes_found(row, q) if q else None
    if pinned is not None:
        schemes = numbers_of(row, {pinned.text})
    selection = PointSelection(
        shortest=whole_number(request, "shortest"),
        longest=whole_number(request, "longest"),
        schemes=schemes,
        only=bool(q) and one_of(request, "among", (WITH, ONLY), WITH) == ONLY,
        common=request.GET.get("common") == "1",
    )
    return ComparisonSelection(selection, Unit(one_of(request, "unit", tuple(Unit), Unit.CYCLES)))


def _search(request: HttpRequest) -> str:
    """The search over schemes that text, extension and category make together."""
    parts = [request.GET.get("q", "").strip()]
    for field, key in (("ext", "ext"), ("category", "category")):
        value = request.GET.get(field, "").replace('"', "").strip()
        if value:
            parts.append(f'{key}:"{value[:60]}"')
    return " ".join(filter(None, parts))


def pinned_scheme(request: HttpRequest, row: Comparison) -> InstructionScheme | None:
    """The one scheme whose experiments the address asks for, in place of a search."""
    pk = whole_number(request, "of")
    return None if pk is None else get_object_or_404(InstructionScheme, pk=pk, isa=row.isa_id)


def column_in(request: HttpRequest, columns: Sequence[ComparedColumn]) -> ComparedColumn:
    """The column that the address names by its place from 0, the first one where it names none."""
    position = whole_number(request, "column", 0)
    found = next((column for column in columns if column.position == position), None)
    if found is None:
        raise BadRequest(f"column must be a number below {len(columns)}, not {position}")
    return found


def filter_context(request: HttpRequest, row: Comparison) -> dict[str, Any]:
    """What the form above every view needs."""
    extensions, categories = _facets(row.isa_id, tuple(row.schemes))
    return {
        "units": [(unit.value, unit.label) for unit in Unit],
        "lengths": row.lengths,
        "extensions": extensions,
        "categories": categories,
        "among_choices": AMONG,
        "asked": {name: request.GET.get(name, "") for name in ("q", "ext", "category", "among", "common")},
        "shortest": whole_number(request, "shortest"),
        "longest": whole_number(request, "longest"),
        "pinned": pinned_scheme(request, row),
        "colours": one_of(request, "colours", ("log", "linear"), "log"),
    }


@lru_cache(maxsize=16)
def _facets(isa: int, schemes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The extensions and categories of some schemes."""
    there = set(schemes)
    known = InstructionScheme.objects.filter(isa=isa).values_list("text", "extension", "category")
    found = [(extension, category) for text, extension, category in known if text in there]
    extensions = {part for extension, _ in found for part in extension.split("+") if part}
    return sorted(extensions), sorted({category for _, category in found if category})


# The tables of a comparison as CSV.


def comparison_scores_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The table of scores, of the experiments that the address asks for."""
    row = _row(pk)
    try:
        choice = choice_of(request, row)
    except SearchError as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    of = selected(row, choice.selection)
    found = [(column, scores_of(column, choice.unit, choice.selection)) for column in columns_of(row)]
    return table_answer(
        score_table(found, of, choice.unit), f"{row.run.name} scores", comparison=row.run.name
    )


def comparison_schemes_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The biases of one predictor by scheme."""
    row = _row(pk)
    column = column_in(request, columns_of(row))
    try:
        selection = choice_of(request, row).selection
    except SearchError as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    text = scheme_table(row.schemes, biases_in(column, selection))
    return table_answer(
        text, f"{row.run.name} {column.name} schemes", comparison=row.run.name, predictor=column.name
    )


def comparison_answers_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Every experiment with its measurement and all answers, in cycles, line by line."""
    row = _row(pk)
    there = looked(key_of(row))
    columns = columns_of(row)

    def lines() -> Iterator[str]:
        yield head_of(comparison=row.run.name)
        yield from answer_lines(
            there.points,
            there.table,
            [column.name for column in columns],
            [there.answers(at.position) for at in columns],
        )

    name = slugify(row.run.name) or "comparison"
    return StreamingHttpResponse(
        lines(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}-answers.csv"'},
    )


def _row(pk: int) -> Comparison:
    return get_object_or_404(comparison_rows(), run=pk)


urlpatterns = [
    path("comparisons/<int:pk>/scores.csv", comparison_scores_csv, name="comparison-scores-csv"),
    path("comparisons/<int:pk>/schemes.csv", comparison_schemes_csv, name="comparison-schemes-csv"),
    path("comparisons/<int:pk>/answers.csv", comparison_answers_csv, name="comparison-answers-csv"),
]
