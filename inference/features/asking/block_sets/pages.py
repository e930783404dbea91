"""The pages of basic-block sets: the list, a set's page, the form for new columns, and the CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.features.asking.block_sets.columns import KIND
from inference.features.asking.block_sets.job import ColumnsConfig
from inference.features.asking.block_sets.query import (
    SET_ORDERS,
    BlockFilter,
    BlockSetView,
    ColumnKind,
    ColumnNumbers,
    block_orders,
    block_sets,
    blocks_of,
    column_order,
    columns_of,
    numbers_of,
)
from inference.features.asking.predictors.modes import mode_field, mode_of_measurements
from inference.features.asking.questions.form import ChoosingForm
from inference.formats.problems import ExchangeError
from inference.measuring.blocks import LOOP
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.predictors.answer_arrays import outlying_answers
from inference.predictors.protocol import Answer
from inference.storage.block_sets import export
from inference.web.contributions import PanelPlace, panels_of, rendered_panels
from inference.web.file_answers import streamed_table
from inference.web.naming import naming_paths
from inference.web.paging import Order, Page, list_page
from inference.web.request_fields import RunForm, form_page, start_run
from inference.web.validation import choice_parameter, number_parameter


def block_set_list(request: HttpRequest) -> HttpResponse:
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
ANSWER_KINDS = (
    (ColumnKind.NUMBER.value, "has a number"),
    (ColumnKind.FAILURE.value, "failed"),
    (ColumnKind.NOTHING.value, "not predicted"),
)


@dataclass(frozen=True)
class ColumnHead:
    """A column of the table of blocks; `order` is the key that sorts the table by it."""

    column: BlockColumn
    order: str


def block_set(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(BasicBlockSet.objects.select_related("isa", "run"), pk=pk)
    columns = columns_of(row)
    subject = BlockSetView(row, columns)
    panels = {panel.name: panel for panel in panels_of(PanelPlace.BLOCK_SET, subject)}
    tabs = TABS | {name: panel.title for name, panel in panels.items()}
    tab = choice_parameter(request, "tab", tuple(tabs), "blocks")
    asking = Run.objects.filter(kind=KIND, config__block_set=pk).exclude(state__in=Run.FINAL)
    context: dict[str, Any] = {
        "block_set": row,
        "columns": columns,
        "asking": list(asking.defer("result", "note")),
        "tabs": tabs.items(),
        "tab": tab,
        "tab_template": panels[tab].template if tab in panels else f"inference/block_sets/tab_{tab}.html",
    }
    context["top"] = rendered_panels(request, PanelPlace.BLOCK_SET_TOP, subject)
    if tab in panels:
        context |= panels[tab].context(request, subject) or {}
    else:
        parts = {"blocks": _blocks, "columns": _columns}
        context |= parts[tab](request, row, columns)
    return render(
        request, "inference/block_sets/set.html", context, status=400 if context.get("error") else 200
    )


def _marked_answers(
    columns: Sequence[BlockColumn], answers: Sequence[Answer | None]
) -> list[tuple[BlockColumn, Answer | None, bool]]:
    """(column, answer, whether it is far from the others) of a block."""
    odd = outlying_answers([None if answer is None else answer.cycles for answer in answers])
    return [
        (column, answer, place in odd)
        for place, (column, answer) in enumerate(zip(columns, answers, strict=True))
    ]


def _blocks(request: HttpRequest, block_set_row: BasicBlockSet, columns: list[BlockColumn]) -> dict[str, Any]:
    answer_kind = choice_parameter(request, "told", tuple(ColumnKind))
    block_filter = BlockFilter(
        request.GET.get("q", "").strip(),
        number_parameter(request, "length"),
        number_parameter(request, "column"),
        ColumnKind(answer_kind) if answer_kind else None,
    )
    order = Order.read(request.GET.get("sort", ""), block_orders(columns), "position")
    page = Page((), 0)  # type: ignore[var-annotated]
    error = ""
    try:
        page = blocks_of(block_set_row, columns, block_filter, order, request.GET.get("page", ""))
    except ExchangeError as problem:
        error = str(problem)
    by_column = next((column for column in columns if column_order(column.pk) == order.column), None)
    return {
        "page": page,
        "rows": [(row.block, _marked_answers(columns, row.answers)) for row in page.rows],
        "heads": [ColumnHead(column, column_order(column.pk)) for column in columns],
        "weighted": bool(block_set_row.report.get("scales", {}).get("weight")),
        "q": block_filter.mnemonics,
        "wanted_length": block_filter.length,
        "wanted_column": block_filter.column,
        "wanted_told": answer_kind,
        "told": ANSWER_KINDS,
        "sort": str(order),
        "by_column": by_column,
        "error": error,
    }


def _columns(
    _request: HttpRequest, row: BasicBlockSet, columns: list[BlockColumn]
) -> dict[str, list[tuple[BlockColumn, ColumnNumbers]]]:
    return {"numbers": numbers_of(row, columns)}


class ColumnsForm(RunForm, ChoosingForm):
    """A choice of predictors without a column in the set."""

    request = ColumnsConfig
    mode = mode_field("as measured columns of the set")
    # None removes a field in Django; cached answers are never out of date
    anew = None  # type: ignore[assignment]

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if not self.rows and not self.errors:
            self.add_error("predictors", "Choose at least one predictor.")
        return data


def block_set_ask(request: HttpRequest, pk: int) -> HttpResponse:
    block_set_row = get_object_or_404(BasicBlockSet, pk=pk)
    usual = mode_of_measurements(column.predictor for column in columns_of(block_set_row))
    form = ColumnsForm(request.POST if request.method == "POST" else None, initial={"mode": usual or LOOP})
    if form.is_bound and form.is_valid():
        config = {
            "block_set": pk,
            "predictors": [row.pk for row in form.rows],
            "mode": form.cleaned_data["mode"],
        }
        if start_run(request, KIND, config, form=form) is not None:
            return redirect(f"{reverse('block-set', args=[pk])}?tab=columns")
    ticked = form.selected_texts() if form.is_bound else set()
    offers = form.offers
    groups = (("Tools", offers.tools), ("Mappings", offers.mappings), ("Machines", offers.machines))
    ticks = [(title, [(offer, offer.text in ticked) for offer in group]) for title, group in groups if group]
    return form_page(request, "inference/block_sets/ask.html", form, block_set=block_set_row, groups=ticks)


def block_set_csv(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The set as a streamed CSV file, which can be imported again."""
    row = get_object_or_404(BasicBlockSet, pk=pk)
    return streamed_table(export(row), row.name)


def block_column_delete(request: HttpRequest, pk: int, column: int) -> HttpResponse:
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
