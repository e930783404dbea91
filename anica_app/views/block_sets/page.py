"""The page of a basic-block set: its blocks, its columns, how these agree, what campaigns explain of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from anica_app.campaigning.new_columns import KIND as NEW_COLUMNS
from anica_app.models import BasicBlockSet, BlockColumn
from anica_app.queries.block_sets import (
    Looked,
    Told,
    block_orders,
    blocks_of,
    column_order,
    columns_of,
)
from anica_app.queries.column_facts import ColumnNumbers, numbers_of
from anica_app.views.block_sets.accuracy import accuracy_tab
from anica_app.views.block_sets.coverage import coverage_tab
from inference.models import Run
from inference.storage.errors import ExchangeError
from inference.web.paging import Order, Page
from inference.web.requests import one_of, whole_number

TABS = {
    "blocks": "Blocks",
    "columns": "Columns and import",
    "accuracy": "Accuracy",
    "coverage": "Coverage by campaigns",
}
TOLD = (
    (Told.NUMBER.value, "gave a number"),
    (Told.FAILURE.value, "failed"),
    (Told.NOTHING.value, "was not asked"),
)


@dataclass(frozen=True)
class Head:
    """A column as the table of blocks has it; `order` is the word by which the table is sorted by it."""

    column: BlockColumn
    order: str


def block_set(request: HttpRequest, pk: int) -> HttpResponse:
    """One set."""
    found = get_object_or_404(BasicBlockSet.objects.select_related("isa", "run"), pk=pk)
    tab = one_of(request, "tab", tuple(TABS), "blocks")
    columns = columns_of(found)
    asking = Run.objects.filter(kind=NEW_COLUMNS, config__block_set=pk).exclude(state__in=Run.FINAL)
    context: dict[str, Any] = {
        "block_set": found,
        "columns": columns,
        "asking": list(asking.defer("result", "note")),
        "tabs": TABS.items(),
        "tab": tab,
        "tab_template": f"anica/block_set/tab_{tab}.html",
    }
    parts = {
        "blocks": _blocks,
        "columns": _columns,
        "accuracy": accuracy_tab,
        "coverage": coverage_tab,
    }
    context |= parts[tab](request, found, columns)
    return render(request, "anica/block_set.html", context, status=400 if context.get("error") else 200)


def _blocks(request: HttpRequest, found: BasicBlockSet, columns: list[BlockColumn]) -> dict[str, Any]:
    told = one_of(request, "told", tuple(Told))
    looked = Looked(
        request.GET.get("q", "").strip(),
        whole_number(request, "length"),
        whole_number(request, "column"),
        Told(told) if told else None,
    )
    order = Order.read(request.GET.get("sort", ""), block_orders(columns), "position")
    page = Page((), 0)  # type: ignore[var-annotated]
    error = ""
    try:
        page = blocks_of(found, columns, looked, order, request.GET.get("page", ""))
    except ExchangeError as problem:
        error = str(problem)
    by_column = next((column for column in columns if column_order(column.pk) == order.column), None)
    return {
        "page": page,
        "rows": [(row.block, list(zip(columns, row.answers, strict=True))) for row in page.rows],
        "heads": [Head(column, column_order(column.pk)) for column in columns],
        "weighted": bool(found.report.get("scales", {}).get("weight")),
        "q": looked.search,
        "wanted_length": looked.length,
        "wanted_column": looked.column,
        "wanted_told": told,
        "told": TOLD,
        "sort": str(order),
        "by_column": by_column,
        "error": error,
    }


def _columns(
    request: HttpRequest, found: BasicBlockSet, columns: list[BlockColumn]
) -> dict[str, list[tuple[BlockColumn, ColumnNumbers]]]:
    del request
    return {"numbers": numbers_of(found, columns)}


urlpatterns = [path("block-sets/<int:pk>/", block_set, name="block-set")]
