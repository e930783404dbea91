"""Matrices: the list, one with its cells, and the blocks behind a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from anica_app.campaigning.matrix import KIND
from anica_app.models import BasicBlockSet, BlockColumn
from anica_app.queries.differing import ORDERS, differing_blocks
from anica_app.views.runs_of_kind import newest_runs
from inference.core.protocols import Json
from inference.formats.csv_cells import written
from inference.models import Run
from inference.web.paging import Order
from inference.web.requests import table_answer

_SHADES = 8


@dataclass(frozen=True)
class Cell:
    """Two tools: how many of `both` blocks, those for which the two gave a number, they disagree about."""

    row: int
    column: int
    both: int
    differing: int

    @property
    def share(self) -> float | None:
        """As a share."""
        return self.differing / self.both if self.both else None

    @property
    def shade(self) -> int:
        """From 0 to 8, for the cell's background: white to dark from 0 to 100 per cent."""
        share = self.share
        return 0 if not share else max(1, round(_SHADES * share))


def matrices(request: HttpRequest) -> HttpResponse:
    """All of them, newest first."""
    return render(request, "anica/matrices.html", newest_runs(request, KIND, "result", "config", "note"))


def matrix(request: HttpRequest, pk: int) -> HttpResponse:
    """One: its table once it is done."""
    run = get_object_or_404(Run, pk=pk, kind=KIND)
    context: dict[str, Any] = {"run": run, "stoppable": Run.UNFINISHED}
    if run.result:
        context |= {
            "found": run.result,
            "block_set": BasicBlockSet.objects.filter(pk=run.result["block_set"]).first(),
            "interest": run.config["interest"],
            "rows": list(zip(run.result["columns"], _cells(run.result), strict=True)),
        }
    return render(request, "anica/matrix.html", context)


def _cells(result: Json) -> list[list[Cell | None]]:
    """A row per tool; None beside itself."""
    size = range(len(result["columns"]))
    return [
        [
            None
            if row == column
            else Cell(row, column, result["both"][row][column], result["differing"][row][column])
            for column in size
        ]
        for row in size
    ]


def matrix_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """All pairs as a table."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    names = [column["name"] for column in run.result["columns"]]
    cells = [
        cell for row in _cells(run.result) for cell in row if cell is not None and cell.row < cell.column
    ]
    lines = [(names[cell.row], names[cell.column], cell.both, cell.differing, cell.share) for cell in cells]
    head = ("first", "second", "blocks", "differing", "share")
    return table_answer(written(head, lines), run.name, matrix=run.name)


def matrix_cell(request: HttpRequest, pk: int, first: int, second: int) -> HttpResponse:
    """The blocks that two tools disagree about, those that they are furthest apart on first."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    heads = run.result["columns"]
    if first == second or max(first, second) >= len(heads):
        raise Http404("there is no such pair of tools")
    rows = BlockColumn.objects.select_related("predictor", "block_set").in_bulk(
        [heads[at]["id"] for at in (first, second)]
    )
    columns = [rows.get(heads[at]["id"]) for at in (first, second)]
    context: dict[str, Any] = {
        "run": run,
        "heads": [heads[first], heads[second]],
        "interest": run.config["interest"],
        "cell": _cells(run.result)[first][second],
        "columns": columns,
    }
    one, other = columns
    if one is not None and other is not None:
        order = Order.read(request.GET.get("sort", ""), ORDERS, "-difference")
        interest = run.config["interest"]
        cursor = request.GET.get("page", "")
        page = differing_blocks(one, other, interest["metric"], interest["threshold"], order, cursor)
        context |= {
            "page": page,
            "sort": str(order),
            "block_set": one.block_set,
            "predictors": [column.predictor for column in (one, other) if column.predictor is not None],
        }
    return render(request, "anica/matrix_cell.html", context)


urlpatterns = [
    path("campaigns/matrices/", matrices, name="matrices"),
    path("campaigns/matrices/<int:pk>/", matrix, name="matrix"),
    path("campaigns/matrices/<int:pk>/table.csv", matrix_csv, name="matrix-csv"),
    path("campaigns/matrices/<int:pk>/<int:first>/<int:second>/", matrix_cell, name="matrix-cell"),
]
