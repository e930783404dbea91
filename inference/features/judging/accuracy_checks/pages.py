"""The addresses that accuracy checks had: their pages are those of any comparison."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path

from inference.features.judging.accuracy_checks.query import check_of
from inference.features.judging.accuracy_checks.request import KIND
from inference.features.judging.engine.addresses import QueryValue, to_comparison, to_form, to_list
from inference.features.judging.engine.tables import check_table
from inference.formats.csv_cells import written
from inference.models import Run
from inference.web.file_answers import table_answer
from inference.web.validation import whole_number


def accuracy_check_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The scores of all predictors as a table."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    found = check_of(run)
    assert found is not None, "it is done"
    text = written(_HEADS, check_table(found).rows)
    return table_answer(text, run.name, machine=found["machine"], blocks=found["source"])


_HEADS = (
    *("predictor", "answered", "failures", "compared", "mape", "median"),
    *("pearson", "kendall", "within_10_percent", "more_than_3_percent_above"),
    *("judgement", "reasons"),
)


def _form_fields(request: HttpRequest) -> dict[str, QueryValue]:
    """The address may name a `machine` and a `set`."""
    block_set, machine = whole_number(request, "set"), whole_number(request, "machine")
    return {
        "items": "blocks" if block_set is None else f"blocks:{block_set}",
        "against": "machine" if machine is None else f"machine:{machine}",
    }


urlpatterns = [
    path("accuracy/", to_list(KIND), name="accuracy-checks"),
    path("accuracy/<int:pk>/", to_comparison(KIND), name="accuracy-check"),
    path("accuracy/<int:pk>/scores.csv", accuracy_check_csv, name="accuracy-check-csv"),
    path("accuracy/new/", to_form(_form_fields), name="accuracy-check-new"),
]
