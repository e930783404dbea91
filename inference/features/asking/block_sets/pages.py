"""Basic-block sets: the list, the page of each, new columns, and its file, name, note and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.features.asking.block_sets.columns import KIND, ColumnsConfig
from inference.features.asking.block_sets.query import (
    SET_ORDERS,
    BlockFilter,
    ColumnKind,
    ColumnNumbers,
    ShownSet,
    block_orders,
    block_sets,
    blocks_of,
    column_order,
    columns_of,
    numbers_of,
)
from inference.features.asking.predictors.modes import mode_field, mode_of_measurements
from inference.features.asking.questions.form import ChoosingForm
from inference.formats.errors import ExchangeError
from inference.measuring.blocks import LOOP
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.predictors.answer_arrays import odd_answers
from inference.predictors.protocol import Answer
from inference.storage.block_sets import export
from inference.web.contributions import PanelPlace, panels_of
from inference.web.file_answers import streamed_table
from inference.web.naming import naming_paths
from inference.web.paging import Order, Page, list_page
from inference.web.request_fields import RunForm, start_run
from inference.web.validation import one_of, whole_number


def block_set_list(request: HttpRequest) -> HttpResponse:
    """All of them, newest first, filtered by name or note."""
    return list_page(
        request,
        "inference/block_sets/list.html",
        block_sets,
        SET_ORDERS,
        "-newest",
        noun="basic-block set",
    )


TABS = {
    "blocks": "Blocks",
    "columns": "Columns and import",
}
TOLD = (
    (ColumnKind.NUMBER.value, "gave a number"),
    (ColumnKind.FAILURE.value, "failed"),
    (ColumnKind.NOTHING.value, "not predicted"),
)


@dataclass(frozen=True)
class Head:
    """A column as the table of blocks has it; `order` is the word by which the table is sorted by it."""

    column: BlockColumn
    order: str


def block_set(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(BasicBlockSet.objects.select_related("isa", "run"), pk=pk)
    columns = columns_of(found)
    subject = ShownSet(found, columns)
    others = {panel.name: panel for panel in panels_of(PanelPlace.BLOCK_SET, subject)}
    tabs = TABS | {name: panel.title for name, panel in others.items()}
    tab = one_of(request, "tab", tuple(tabs), "blocks")
    asking = Run.objects.filter(kind=KIND, config__block_set=pk).exclude(state__in=Run.FINAL)
    context: dict[str, Any] = {
        "block_set": found,
        "columns": columns,
        "asking": list(asking.defer("result", "note")),
        "tabs": tabs.items(),
        "tab": tab,
        "tab_template": others[tab].template if tab in others else f"inference/block_sets/tab_{tab}.html",
    }
    if tab in others:
        context |= others[tab].context(request, subject) or {}
    else:
        parts = {"blocks": _blocks, "columns": _columns}
        context |= parts[tab](request, found, columns)
    return render(
        request, "inference/block_sets/set.html", context, status=400 if context.get("error") else 200
    )


def _told(
    columns: Sequence[BlockColumn], answers: Sequence[Answer | None]
) -> list[tuple[BlockColumn, Answer | None, bool]]:
    """Each answer of a block under its column, and whether it is far from the others."""
    odd = odd_answers([None if answer is None else answer.cycles for answer in answers])
    return [
        (column, answer, place in odd)
        for place, (column, answer) in enumerate(zip(columns, answers, strict=True))
    ]


def _blocks(request: HttpRequest, found: BasicBlockSet, columns: list[BlockColumn]) -> dict[str, Any]:
    told = one_of(request, "told", tuple(ColumnKind))
    looked = BlockFilter(
        request.GET.get("q", "").strip(),
        whole_number(request, "length"),
        whole_number(request, "column"),
        ColumnKind(told) if told else None,
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
        "rows": [(row.block, _told(columns, row.answers)) for row in page.rows],
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
    _request: HttpRequest, found: BasicBlockSet, columns: list[BlockColumn]
) -> dict[str, list[tuple[BlockColumn, ColumnNumbers]]]:
    return {"numbers": numbers_of(found, columns)}


class ColumnsForm(RunForm, ChoosingForm):
    """Which predictors; those that have a column are refused."""

    request = ColumnsConfig
    mode = mode_field("as measured columns of the set")
    anew = None  # type: ignore[assignment]  # as Django removes a field; what is remembered is what they would say again

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if not self.rows and not self.errors:
            self.add_error("predictors", "Choose at least one predictor.")
        return data


def block_set_ask(request: HttpRequest, pk: int) -> HttpResponse:
    """The choice of predictors; a POST starts the run."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    usual = mode_of_measurements(column.predictor for column in columns_of(found))
    form = ColumnsForm(request.POST if request.method == "POST" else None, initial={"mode": usual or LOOP})
    if form.is_bound and form.is_valid():
        names = ", ".join(row.name for row in form.rows)
        config = {
            "block_set": pk,
            "predictors": [row.pk for row in form.rows],
            "mode": form.cleaned_data["mode"],
        }
        if start_run(request, KIND, config, f"{names} on {found.name}"[:180], form=form) is not None:
            return redirect(f"{reverse('block-set', args=[pk])}?tab=columns")
    ticked = form.ticked() if form.is_bound else set()
    offers = form.offers
    groups = (("Tools", offers.tools), ("Mappings", offers.mappings), ("Machines", offers.machines))
    context = {
        "block_set": found,
        "form": form,
        "groups": [(title, [(one, one.text in ticked) for one in group]) for title, group in groups if group],
    }
    return render(request, "inference/block_sets/ask.html", context, status=400 if form.is_bound else 200)


def block_set_csv(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The whole set as CSV, a piece at a time; it imports again."""
    row = get_object_or_404(BasicBlockSet, pk=pk)
    return streamed_table(export(row), row.name)


def block_column_delete(request: HttpRequest, pk: int, column: int) -> HttpResponse:
    """Take a column with its answers out of the set."""
    row = get_object_or_404(BlockColumn, pk=column, block_set=pk)
    row.delete()
    messages.success(request, f"The column “{row.name}” has been removed.")
    return redirect(f"{reverse('block-set', args=[pk])}?tab=columns")


urlpatterns = [
    path("block-sets/", block_set_list, name="block-sets"),
    path("block-sets/<int:pk>/", block_set, name="block-set"),
    path("block-sets/<int:pk>/ask/", block_set_ask, name="block-set-ask"),
    path("block-sets/<int:pk>/blocks.csv", block_set_csv, name="block-set-csv"),
    *naming_paths(BasicBlockSet, "block-set", "block-sets"),
    path("block-sets/<int:pk>/columns/<int:column>/delete/", block_column_delete, name="block-column-delete"),
]
