"""The columns of a set beside one of them: a tab with their scores, which leads to the engine's views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import column_named, usual_reference
from inference.features.asking.block_sets.query import columns_of, names_of_columns, set_item
from inference.features.asking.predictors.query import different_processors
from inference.features.judging.column_accuracy.accuracy import KIND, accuracy_known, baseline_of
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, MOST_TOLERANCE, GateResult, judged
from inference.features.judging.engine.tables import columns_table, page_cells
from inference.features.running.runs.kind_presentation import DescriptionItem
from inference.formats.accuracy_baseline import LIMIT_BYTES, AccuracyBaseline, read_baseline, write_baseline
from inference.formats.csv_cells import written
from inference.formats.errors import ExchangeError
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.web.file_answers import file_answer, table_answer
from inference.web.request_fields import StrictForm, start_run
from inference.web.validation import row_number, whole_number


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
    start_run(request, KIND, config, f"Columns of {found.name} compared"[:180])
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


class GateForm(StrictForm):
    """A baseline, and how much worse a column may be."""

    file = forms.FileField(label="Baseline")
    tolerance = forms.FloatField(
        min_value=0, max_value=MOST_TOLERANCE, initial=DEFAULT_TOLERANCE, label="Tolerance"
    )


def block_set_baseline(request: HttpRequest, pk: int) -> HttpResponse:
    """The accuracy of all columns beside a reference, as a file."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    column = column_in_address(request, columns_of(found))
    made = baseline_of(found, column, _known(found, column))
    return file_answer(write_baseline(made), "application/json", f"{found.name} baseline", "json")


def block_set_gate(request: HttpRequest, pk: int) -> HttpResponse:
    """The field for a baseline; a POST shows what has become of its columns, and stores nothing."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    posted = request.method == "POST"
    form = GateForm(request.POST, request.FILES) if posted else GateForm()
    context: dict[str, Any] = {"block_set": found, "form": form}
    if posted and form.is_valid():
        try:
            result = _judged(found, form)
            context |= {"result": result, **page_cells(result.table)}
        except ExchangeError as error:
            form.add_error("file", str(error))
    wrong = bool(form.is_bound and form.errors)
    return render(request, "inference/column_accuracy/gate.html", context, status=400 if wrong else 200)


def _judged(found: BasicBlockSet, form: GateForm) -> GateResult:
    file = form.cleaned_data["file"]
    baseline: AccuracyBaseline = read_baseline(file.read(LIMIT_BYTES + 1), file.name)
    column = column_named(found, baseline.reference)
    now = baseline_of(found, column, _known(found, column))
    return judged(baseline, now, form.cleaned_data["tolerance"])


def _known(found: BasicBlockSet, column: BlockColumn) -> Json:
    known = accuracy_known(found, columns_of(found), column).accuracy
    if known is None:
        raise Http404(f"the columns have not been compared with {column.name} yet: press Compare on Accuracy")
    return known


urlpatterns = [
    path("block-sets/<int:pk>/compare/", block_set_compare, name="block-set-compare"),
    path("block-sets/<int:pk>/accuracy.csv", block_set_accuracy_csv, name="block-set-accuracy-csv"),
    path("block-sets/<int:pk>/baseline.json", block_set_baseline, name="block-set-baseline"),
    path("block-sets/<int:pk>/gate/", block_set_gate, name="block-set-gate"),
]
