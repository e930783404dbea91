"""The former URLs of accuracy checks, which redirect to pages of comparisons."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path

from inference.features.judging.accuracy_checks.query import check_of
from inference.features.judging.accuracy_checks.request import KIND
from inference.features.judging.engine.addresses import (
    QueryValue,
    redirecting_to_comparison,
    redirecting_to_form,
    redirecting_to_list,
)
from inference.features.judging.engine.tables import check_table
from inference.formats.quoting import csv_text
from inference.models import Run
from inference.web.file_answers import table_answer
from inference.web.validation import number_parameter


def accuracy_check_csv(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    check = check_of(run)
    assert check is not None, "it is done"
    text = csv_text(_HEADS, check_table(check).rows)
    return table_answer(text, run.name, machine=check["machine"], blocks=check["source"])


_HEADS = (
    *("predictor", "answered", "failures", "compared", "mape", "median"),
    *("pearson", "kendall", "within_10_percent", "more_than_3_percent_above"),
    *("judgement", "reasons"),
)


def _form_fields(request: HttpRequest) -> dict[str, QueryValue]:
    """The fields of the form for the parameters `machine` and `set`."""
    block_set, machine = number_parameter(request, "set"), number_parameter(request, "machine")
    return {
        "items": "blocks" if block_set is None else f"blocks:{block_set}",
        "against": "machine" if machine is None else f"machine:{machine}",
    }


urlpatterns = [
    path("accuracy/", redirecting_to_list(KIND), name="accuracy-checks"),
    path("accuracy/<int:pk>/", redirecting_to_comparison(KIND), name="accuracy-check"),
    path("accuracy/<int:pk>/scores.csv", accuracy_check_csv, name="accuracy-check-csv"),
    path("accuracy/new/", redirecting_to_form(_form_fields), name="accuracy-check-new"),
]
