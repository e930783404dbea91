"""The columns of a set beside one of them: a tab with their scores, which leads to the engine's views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.features.asking.block_sets.asked import names_of_columns, set_item
from inference.features.asking.block_sets.columns import usual_reference
from inference.features.asking.block_sets.query import columns_of
from inference.features.asking.predictors.processors import different_processors
from inference.features.judging.column_accuracy.accuracy import KIND, accuracy_known
from inference.features.judging.engine.result_tables import columns_table
from inference.features.judging.engine.tables import page_cells
from inference.features.running.runs.kind_presentation import DescriptionItem
from inference.formats.quoting import written
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.web.file_answers import table_answer
from inference.web.requests import row_number, whole_number
from inference.web.run_forms import start_or_tell


def accuracy_tab(request: HttpRequest, found: BasicBlockSet, columns: list[BlockColumn]) -> dict[str, Any]:
    """The scores of all columns, and the ways to their views."""
    if len(columns) < 2:
        return {}
    reference = _column(columns, whole_number(request, "reference")) or usual_reference(columns)
    known = accuracy_known(found, columns, reference)
    predictors = [column.predictor for column in columns if column.predictor is not None]
    context = {"reference": reference, "known": known, "processors": different_processors(predictors)}
    if known.accuracy is None:
        return context
    return context | {"accuracy": known.accuracy, **page_cells(columns_table(known.accuracy))}


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


@require_POST
def block_set_compare(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the comparison with a column; its page has all views."""
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
    lines = [(row[0], reference.name, *row[1:]) for row in columns_table(known).rows]
    return table_answer(written(CSV_HEADS, lines), f"{found.name} accuracy", blocks=found.name)


CSV_HEADS = (
    *("column", "reference", "numbers", "failures", "compared"),
    *("mape", "pearson", "kendall", "weighted_mape"),
)


def accuracy_words(run: Run) -> Iterator[DescriptionItem]:
    """Which columns, compared with which."""
    yield set_item(run.config)
    yield DescriptionItem("Reference", names_of_columns([run.config["reference"]]))


urlpatterns = [
    path("block-sets/<int:pk>/compare/", block_set_compare, name="block-set-compare"),
    path("block-sets/<int:pk>/accuracy.csv", block_set_accuracy_csv, name="block-set-accuracy-csv"),
]
