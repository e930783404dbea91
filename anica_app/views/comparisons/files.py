"""The tables of a comparison as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.text import slugify

from anica_app.exchange.comparison_csv import answer_lines, scheme_table, score_table
from anica_app.models import Comparison
from anica_app.queries.comparisons import (
    biases_in,
    columns_of,
    comparison_rows,
    key_of,
    looked,
    scores_of,
    selected,
)
from anica_app.views.comparisons.choosing import choice_of, column_in
from inference.formats.provenance import head_of
from inference.isa.search import SearchError
from inference.web.requests import table_answer


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
