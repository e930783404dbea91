"""The accuracy of a set's columns as a baseline to take away, and held against one that is brought back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import column_named
from inference.features.asking.block_sets.query import columns_of
from inference.features.judging.column_accuracy.accuracy import accuracy_known, baseline_of
from inference.features.judging.column_accuracy.pages import column_in_address
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, MOST_TOLERANCE, GateResult, judged
from inference.features.judging.engine.tables import page_cells
from inference.formats.accuracy_baseline import LIMIT_BYTES, AccuracyBaseline, read_baseline, write_baseline
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, BlockColumn
from inference.web.file_answers import file_answer
from inference.web.strict_form import StrictForm


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
    path("block-sets/<int:pk>/baseline.json", block_set_baseline, name="block-set-baseline"),
    path("block-sets/<int:pk>/gate/", block_set_gate, name="block-set-gate"),
]
