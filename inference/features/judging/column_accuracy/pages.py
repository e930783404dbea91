"""How well the columns of a set agree with one of them: scores, heat maps, and the blocks behind a bin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.core.protocols import Json
from inference.features.asking.block_sets.asked import names_of_columns, set_item
from inference.features.asking.block_sets.columns import usual_reference
from inference.features.asking.block_sets.query import (
    COMPARED_ORDERS,
    answers_of,
    blocks_at,
    columns_of,
    compared_in_bin,
)
from inference.features.asking.predictors.processors import different_processors
from inference.features.judging.column_accuracy.accuracy import KIND, Accuracy, ColumnAccuracy, accuracy_known
from inference.features.running.runs.kind_presentation import DescriptionItem
from inference.figures.heatmap import HeatMap
from inference.formats.csv_cells import written
from inference.models import BasicBlock, BasicBlockSet, BlockColumn, Run
from inference.web.file_answers import table_answer
from inference.web.paging import Order, Page
from inference.web.requests import chosen_bin, row_number, whole_number
from inference.web.run_forms import start_or_tell
from inference.web.small_maps import DeviationBin, cells_of

LISTED = 50
"""Blocks of a bin on one page."""


@dataclass(frozen=True)
class ColumnMap:
    """A column with its map in small."""

    accuracy: ColumnAccuracy
    cells: list[DeviationBin]
    share: float | None

    @property
    def bins(self) -> int:
        """Of the map, in each direction."""
        return self.accuracy.heat_map.bins


@dataclass(frozen=True)
class ComparedBlock:
    """A block with both numbers."""

    block: BasicBlock
    reference: float
    said: float

    @property
    def error(self) -> float | None:
        """In per cent of the reference."""
        return 100 * (self.said - self.reference) / self.reference if self.reference else None


@dataclass(frozen=True)
class BlockBin:
    """The bounds of a bin on both axes in words."""

    across: str
    upwards: str


def accuracy_tab(request: HttpRequest, found: BasicBlockSet, columns: list[BlockColumn]) -> dict[str, Any]:
    """The table of all columns, and of one of them the heat map with the blocks in a bin of it."""
    if len(columns) < 2:
        return {}
    reference = _column(columns, whole_number(request, "reference")) or usual_reference(columns)
    known = accuracy_known(found, columns, reference)
    predictors = [column.predictor for column in columns if column.predictor is not None]
    context: dict[str, Any] = {
        "reference": reference,
        "known": known,
        "processors": different_processors(predictors),
    }
    if known.accuracy is None or not known.accuracy.columns:
        return context
    shown = [_shown(one, found.size, reference) for one in known.accuracy.columns]
    wanted = whole_number(request, "of")
    chosen = next((one for one in shown if one.accuracy.column == wanted), shown[0])
    column = _column(columns, chosen.accuracy.column)
    assert column is not None
    return context | {
        "accuracy": known.accuracy,
        "shown": shown,
        "chosen": chosen,
        "weighted": any(one.accuracy.weighted is not None for one in shown),
        "heat_map": {"figure": _figure(chosen.accuracy.heat_map, reference.name, column.name)},
        **_listed(request, found, reference, column, chosen.accuracy),
    }


def _column(columns: Sequence[BlockColumn], pk: int | None) -> BlockColumn | None:
    if pk is None:
        return None
    row = next((column for column in columns if column.pk == pk), None)
    if row is None:
        raise Http404("the set has no such column")
    return row


def column_in_address(request: HttpRequest, columns: Sequence[BlockColumn]) -> BlockColumn:
    """The column whose number the address has as `reference`; without one it is a bad request."""
    found = _column(columns, whole_number(request, "reference"))
    if found is None:
        raise BadRequest("reference must be the number of a column")
    return found


def _shown(one: ColumnAccuracy, blocks: int, reference: BlockColumn) -> ColumnMap:
    share = one.answered / blocks if blocks else None
    return ColumnMap(one, cells_of(one.heat_map, reference.name, one.name), share)


def _figure(drawn: HeatMap, across: str, upwards: str) -> Json:
    figure = drawn.figure()
    for axis, name in (("xaxis", across), ("yaxis", upwards)):
        figure["layout"][axis]["title"] = {"text": f"{_short(name)} (cycles)"}
    return figure


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def _listed(
    request: HttpRequest,
    found: BasicBlockSet,
    reference: BlockColumn,
    column: BlockColumn,
    one: ColumnAccuracy,
) -> dict[str, Any]:
    """The blocks of the bin that the address names, else those with the largest errors."""
    place = chosen_bin(request, one.heat_map.bins)
    if place is None:
        blocks = blocks_at(found, one.worst[:LISTED])
        answered = answers_of(blocks, [reference, column])
        return {"rows": [_compared(each.block, each.answers) for each in answered]}
    order = Order.read(request.GET.get("sort", ""), COMPARED_ORDERS, "position")
    drawn = one.heat_map
    page = compared_in_bin(
        reference,
        column,
        drawn.exact_edges(place[1]),
        drawn.exact_edges(place[0]),
        order,
        request.GET.get("page", ""),
        LISTED,
    )
    return {
        "bin": BlockBin(drawn.bounds(place[1]), drawn.bounds(place[0])),
        "page": Page(page.rows, page.total, page.next_cursor, page.previous_cursor),
        "rows": [ComparedBlock(row.block, row.cycles or 0.0, row.said) for row in page.rows],  # type: ignore[attr-defined]
        "sort": str(order),
    }


def _compared(block: BasicBlock, answers: Sequence[Any]) -> ComparedBlock:
    seen, said = (math.nan if one is None or one.cycles is None else one.cycles for one in answers)
    return ComparedBlock(block, seen, said)


@require_POST
def block_set_compare(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the comparison with a column, which a large set needs a run for."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    reference = row_number(request.POST.get("reference", "")) or 0
    config = {"block_set": pk, "reference": reference}
    start_or_tell(request, KIND, config, f"Columns of {found.name} compared"[:180])
    return redirect(f"{reverse('block-set', args=[pk])}?tab=accuracy&reference={reference}")


def block_set_accuracy_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The scores of all columns as a table."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    columns = columns_of(found)
    reference = column_in_address(request, columns)
    known = accuracy_known(found, columns, reference).accuracy
    if known is None:
        raise Http404("these columns have not been compared yet")
    return table_answer(written(HEADS, _lines(known, reference)), f"{found.name} accuracy", blocks=found.name)


HEADS = (
    "column",
    "reference",
    "numbers",
    "failures",
    "compared",
    "mape",
    "pearson",
    "kendall",
    "weighted_mape",
)


def _lines(known: Accuracy, reference: BlockColumn) -> list[tuple[object, ...]]:
    return [
        (
            one.name,
            reference.name,
            one.answered,
            one.failed,
            *(one.scores.n, one.scores.mape, one.scores.pearson, one.scores.kendall, one.weighted),
        )
        for one in known.columns
    ]


def accuracy_words(run: Run) -> Iterator[DescriptionItem]:
    """Which columns, compared with which."""
    yield set_item(run.config)
    yield DescriptionItem("Reference", names_of_columns([run.config["reference"]]))


urlpatterns = [
    path("block-sets/<int:pk>/compare/", block_set_compare, name="block-set-compare"),
    path("block-sets/<int:pk>/accuracy.csv", block_set_accuracy_csv, name="block-set-accuracy-csv"),
]
