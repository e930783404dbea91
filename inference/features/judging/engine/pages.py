"""The pages of comparisons: the list, a comparison with its views, and CSV files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path
from django.utils.text import slugify

from inference.core.judging.accuracy import MIN_ITEMS
from inference.core.judging.agreement import SchemeBias
from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.judging.engine.addresses import comparisons_of
from inference.features.judging.engine.publishing import publishable, published_page
from inference.features.judging.engine.query import (
    ComparisonPart,
    answered_count,
    biases_in,
    columns_of,
    comparison_rows,
    key_of,
    scores_of,
    selected_count,
    sheet_of,
)
from inference.features.judging.engine.request import ALL_KINDS
from inference.features.judging.engine.tables import csv_of, page_cells, result_tables
from inference.features.judging.engine.view_addresses import (
    VIEW_NAMES,
    requested_column,
    requested_part,
    requested_question,
    selectable_columns,
)
from inference.features.judging.engine.view_tabs import views_context
from inference.features.judging.engine.views import VIEWS
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.features.running.runs.query import newest_runs, plan_context
from inference.formats.provenance import head_of
from inference.formats.quoting import cell, csv_text, rows_text
from inference.isa.search import SearchError
from inference.models import ComparedColumn, Comparison, Run
from inference.web.contributions import MenuEntry, MenuPlace, Publishable
from inference.web.file_answers import table_answer
from inference.web.validation import choice_parameter


def comparisons(request: HttpRequest) -> HttpResponse:
    """All comparisons, or those of a run `kind`, newest first."""
    kind = choice_parameter(request, "kind", ("", *ALL_KINDS), "")
    context = newest_runs(request, kind or ALL_KINDS, "config", "note")
    rows = [
        (run, _most_accurate(run), max((score["n"] for score in run.result.get("scores", ())), default=0))
        for run in context["page"].rows
    ]
    return render(request, "inference/engine/list.html", {**context, "kind": kind, "rows": rows})


def _most_accurate(run: Run) -> Json | None:
    """The name and scores of the predictor with the smallest MAPE; None without one.

    Those that predict at least half as many items as the most widely usable one go first: a small error on
    the few blocks that a model of 81 schemes describes says little. Measuring once more is no predictor: its
    error is the least that one can have.
    """
    repeat_name = ((run.result.get("check") or {}).get("again") or {}).get("name")
    scores = [
        score
        for score in run.result.get("scores", ())
        if score["mape"] is not None and score["name"] != repeat_name
    ]
    enough = max(MIN_ITEMS, max((score["n"] for score in scores), default=0) / 2)
    return min(scores, key=lambda score: (score["n"] < enough, score["mape"]), default=None)


def comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """A comparison by the id of its run: its progress, then its views."""
    choice_parameter(request, "tab", tuple(VIEW_NAMES))
    run = get_object_or_404(Run, pk=pk, kind__in=ALL_KINDS)
    row = comparison_rows().filter(run=run).first()
    context: dict[str, Any] = {"run": run, "working": run.state not in Run.FINAL}
    if row is None:
        context |= plan_context(run) if context["working"] else {}
        context["earlier"] = list(map(page_cells, result_tables(run.result)))
        return render(request, "inference/engine/comparison.html", context)
    context |= views_context(request, row, "scores")
    context["columns_asked"] = [column for column in context["columns"] if column.predictor is not None]
    status = 400 if "filter_error" in context else 200
    return render(request, "inference/engine/comparison.html", context, status=status)


def comparison_scores_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The table of scores on the requested experiments, as CSV."""

    def table(row: Comparison, part: ComparisonPart) -> HttpResponse:
        text = score_table(selectable_columns(request, columns_of(row)), part)
        return table_answer(text, f"{row.run.name} scores", comparison=row.run.name)

    return _response_for_part(request, pk, table)


def comparison_schemes_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The biases of one predictor by scheme, as CSV."""

    def table(row: Comparison, part: ComparisonPart) -> HttpResponse:
        column = requested_column(request, columns_of(row))
        text = scheme_table(row.schemes, biases_in(column, part))
        title = f"{row.run.name} {column.name} schemes"
        return table_answer(text, title, comparison=row.run.name, predictor=column.name)

    return _response_for_part(request, pk, table)


def comparison_view_csv(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """The first table of a view on the requested items, as CSV."""
    if name not in VIEWS:
        raise Http404("there is no such view")

    def table(row: Comparison, part: ComparisonPart) -> HttpResponse:
        question = requested_question(request, row, part)
        text = csv_of(VIEWS[name].tables(question)[0])
        head = {"comparison": row.run.name, "source": question.column.name}
        return table_answer(text, f"{row.run.name} {name}", **head)

    return _response_for_part(request, pk, table)


def _response_for_part(
    request: HttpRequest, pk: int, table: Callable[[Comparison, ComparisonPart], HttpResponse]
) -> HttpResponse:
    """The response with the table of the requested part; status 400 for an invalid search."""
    row = _row(pk)
    try:
        part = requested_part(request, row)
    except SearchError as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    return table(row, part)


def comparison_answers_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Every experiment with its measurement and all answers in cycles, as streamed CSV."""
    row = _row(pk)
    sheet, names = sheet_of(key_of(row)), [column.name for column in columns_of(row)]

    def lines() -> Iterator[str]:
        yield head_of(comparison=row.run.name)
        yield from answer_lines(sheet, names)

    name = slugify(row.run.name) or "comparison"
    return StreamingHttpResponse(
        lines(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}-answers.csv"'},
    )


def _row(pk: int) -> Comparison:
    return get_object_or_404(comparison_rows(), run=pk)


_LINES = 2000
"""Lines of answers per chunk of the stream."""


def score_table(columns: Sequence[ComparedColumn], part: ComparisonPart) -> str:
    """CSV with a line per predictor; `coverage` is the share of the part's items that it answers, 0 to 1."""
    head = ("predictor", "kind", "unit", "n", "of", "coverage", "mape", "pearson", "kendall", "error")
    lines = []
    for column in columns:
        scores, of = scores_of(column, part), selected_count(column.comparison, part.selection)
        coverage = answered_count(column, part) / of if of else None
        numbers = (scores.n, of, coverage, scores.mape, scores.pearson, scores.kendall)
        lines.append((column.name, column.kind, part.unit.value, *numbers, column.error or None))
    return csv_text(head, lines)


def scheme_table(schemes: Sequence[str], biases: Sequence[SchemeBias]) -> str:
    """CSV with a line per scheme: the factor by which its experiments are predicted too slow (> 1) or too
    fast."""
    head = ("scheme", "n", "factor", "factor_alone", "free")
    return csv_text(
        head, [(schemes[bias.scheme], bias.n, bias.factor, bias.alone, bias.free) for bias in biases]
    )


def answer_lines(sheet: AnswerSheet, names: Sequence[str]) -> Iterator[str]:
    """Chunks of a CSV file with a line per measurement: measured and predicted cycles, empty for no
    number."""
    yield csv_text(("experiment", "instructions", "measured", *names), [])
    table = sheet.items.table
    assert table is not None, "experiments have schemes"
    numbers = [sheet.reference, *(column.cycles for column in sheet.columns)]
    for start in range(0, len(sheet.items), _LINES):
        part = slice(start, start + _LINES)
        rows = zip(
            sheet.items.lengths[part].tolist(), *(answers[part].tolist() for answers in numbers), strict=True
        )
        lines = [
            (
                str(table.experiment(at)),
                length,
                *(None if math.isnan(value) else value for value in cycles),
            )
            for at, (length, *cycles) in enumerate(rows, start=start)
        ]
        yield rows_text(map(cell, line) for line in lines)


urlpatterns = [
    path("comparisons/", comparisons, name="comparisons"),
    path("comparisons/<int:pk>/", comparison, name="comparison"),
    path("comparisons/<int:pk>/scores.csv", comparison_scores_csv, name="comparison-scores-csv"),
    path("comparisons/<int:pk>/schemes.csv", comparison_schemes_csv, name="comparison-schemes-csv"),
    path("comparisons/<int:pk>/answers.csv", comparison_answers_csv, name="comparison-answers-csv"),
    path("comparisons/<int:pk>/<slug:name>.csv", comparison_view_csv, name="comparison-view-csv"),
]

PRESENTATIONS = dict.fromkeys(("judge", "comparison"), KindPresentation(outcomes=comparisons_of))
PUBLISHED = (Publishable("comparison", "Comparisons", publishable, published_page),)
MENUS = (
    MenuEntry(
        MenuPlace.SET,
        "Compare…",
        "comparison-new",
        icon="chart",
        listing="comparisons",
        listed="Comparisons",
    ),
)
