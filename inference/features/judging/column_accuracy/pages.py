"""Pages for the accuracy of a set's columns: the tab with their scores, the baseline to download, and the
gate that compares the scores with an uploaded baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.core.judging.accuracy import (
    AccuracyJudgement,
    grade_order,
    scores_judgement,
    verdict_summary,
)
from inference.core.metrics import Scores
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import column_named, is_measured, usual_reference
from inference.features.asking.block_sets.query import (
    BlockSetView,
    column_names,
    columns_of,
    outcomes_of,
    set_item,
)
from inference.features.asking.predictors.query import different_processors
from inference.features.judging.column_accuracy.accuracy import KIND, baseline_of, known_accuracy
from inference.features.judging.engine.gate import (
    DEFAULT_TOLERANCE,
    MAX_TOLERANCE,
    GateResult,
    judge_against_baseline,
)
from inference.features.judging.engine.tables import columns_table, page_cells
from inference.features.running.runs.kind_presentation import DescriptionItem, KindPresentation
from inference.formats.accuracy_baseline import LIMIT_BYTES, AccuracyBaseline, read_baseline, write_baseline
from inference.formats.problems import ExchangeError
from inference.formats.quoting import csv_text
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.web.contributions import PagePanel, PanelPlace
from inference.web.file_answers import file_answer, table_answer
from inference.web.request_fields import StrictForm, start_run
from inference.web.validation import number_parameter, row_id_or_none


def accuracy_tab(request: HttpRequest, row: BasicBlockSet, columns: list[BlockColumn]) -> dict[str, Any]:
    """The context of the tab: the scores of all columns; {} for fewer than two columns."""
    if len(columns) < 2:
        return {}
    reference = _column(columns, number_parameter(request, "reference")) or usual_reference(columns)
    result = known_accuracy(row, columns, reference)
    predictors = [column.predictor for column in columns if column.predictor is not None]
    context = {"reference": reference, "known": result, "processors": different_processors(predictors)}
    if result.accuracy is None:
        return context
    return context | {"accuracy": result.accuracy, **page_cells(columns_table(result.accuracy))}


FULL_BAR = 50.0
"""The MAPE in per cent that fills a bar."""


@dataclass(frozen=True)
class JudgedColumn:
    """A column with its scores against the reference; `bar`: its length in per cent.

    `judgement`: None for one that measures again, which no prediction can be nearer than.
    """

    name: str
    scores: Scores
    judgement: AccuracyJudgement | None

    @property
    def bar(self) -> float:
        return 0.0 if self.scores.mape is None else min(100.0, 100 * self.scores.mape / FULL_BAR)


def judged_columns(accuracy: Json, columns: Sequence[BlockColumn]) -> list[JudgedColumn]:
    """The columns of a result of `accuracy_of`, the best first; last, those that measure again."""
    measuring = {column.pk for column in columns if is_measured(column)}
    judged = []
    for column in accuracy["columns"]:
        scores = Scores(**column["scores"])
        coverage = scores.n / accuracy["numbers"] if accuracy["numbers"] else 0.0
        judgement = None if column["column"] in measuring else scores_judgement(scores, "blocks", coverage)
        judged.append(JudgedColumn(column["name"], scores, judgement))
    return sorted(judged, key=lambda column: grade_order(column.judgement, column.scores.mape))


def top_context(_request: HttpRequest, subject: BlockSetView) -> dict[str, Any] | None:
    """The verdicts on a set's columns; None before they have been compared."""
    if len(subject.columns) < 2:
        return None
    reference = usual_reference(subject.columns)
    accuracy = known_accuracy(subject.row, subject.columns, reference).accuracy
    if accuracy is None or not accuracy["numbers"]:
        return None
    judged = judged_columns(accuracy, subject.columns)
    return {
        "reference": reference,
        "numbers": accuracy["numbers"],
        "judged": judged,
        "is_measured": is_measured(reference),
        "summary": verdict_summary([column.judgement for column in judged if column.judgement], "predictor"),
        "full": round(FULL_BAR),
    }


def _column(columns: Sequence[BlockColumn], pk: int | None) -> BlockColumn | None:
    if pk is None:
        return None
    row = next((column for column in columns if column.pk == pk), None)
    if row is None:
        raise Http404("the set has no such column")
    return row


def column_in_address(request: HttpRequest, columns: Sequence[BlockColumn]) -> BlockColumn:
    """The column whose id is `reference` in the address. Raises `BadRequest` without one."""
    column = _column(columns, number_parameter(request, "reference"))
    if column is None:
        raise BadRequest("reference must be the id of a column")
    return column


@require_POST
def block_set_compare(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the run that compares all columns with the posted one."""
    get_object_or_404(BasicBlockSet.objects.only("pk"), pk=pk)
    reference = row_id_or_none(request.POST.get("reference", "")) or 0
    config = {"block_set": pk, "reference": reference}
    start_run(request, KIND, config)
    return redirect(f"{reverse('block-set', args=[pk])}?tab=accuracy&reference={reference}")


def block_set_accuracy_csv(request: HttpRequest, pk: int) -> HttpResponse:
    block_set = get_object_or_404(BasicBlockSet, pk=pk)
    columns = columns_of(block_set)
    reference = column_in_address(request, columns)
    accuracy = known_accuracy(block_set, columns, reference).accuracy
    if accuracy is None:
        raise Http404("these columns have not been compared yet")
    lines = [(row[0], reference.name, *row[1:]) for row in columns_table(accuracy).rows]
    return table_answer(csv_text(CSV_HEADS, lines), f"{block_set.name} accuracy", blocks=block_set.name)


CSV_HEADS = (
    *("column", "reference", "numbers", "failures", "compared"),
    *("mape", "pearson", "kendall", "weighted_mape"),
)


def accuracy_description(run: Run) -> Iterator[DescriptionItem]:
    """The description of a run of kind `accuracy`, item by item."""
    yield set_item(run.config)
    yield DescriptionItem("Reference", column_names([run.config["reference"]]))


class GateForm(StrictForm):
    """A baseline file, and the tolerance in percentage points of MAPE."""

    file = forms.FileField(label="Baseline")
    tolerance = forms.FloatField(
        min_value=0, max_value=MAX_TOLERANCE, initial=DEFAULT_TOLERANCE, label="Tolerance"
    )


def block_set_baseline(request: HttpRequest, pk: int) -> HttpResponse:
    """The baseline of all columns against a reference, as a file."""
    row = get_object_or_404(BasicBlockSet, pk=pk)
    column = column_in_address(request, columns_of(row))
    baseline = baseline_of(row, column, _accuracy_or_404(row, column))
    return file_answer(write_baseline(baseline), "application/json", f"{row.name} baseline", "json")


def block_set_gate(request: HttpRequest, pk: int) -> HttpResponse:
    """The form for a baseline; a POST shows the verdicts on its columns, and stores nothing."""
    row = get_object_or_404(BasicBlockSet, pk=pk)
    posted = request.method == "POST"
    form = GateForm(request.POST, request.FILES) if posted else GateForm()
    context: dict[str, Any] = {"block_set": row, "form": form}
    if posted and form.is_valid():
        try:
            result = _gate_result(row, form)
            context |= {"result": result, **page_cells(result.table)}
        except ExchangeError as error:
            form.add_error("file", str(error))
    wrong = bool(form.is_bound and form.errors)
    return render(request, "inference/column_accuracy/gate.html", context, status=400 if wrong else 200)


def _gate_result(row: BasicBlockSet, form: GateForm) -> GateResult:
    file = form.cleaned_data["file"]
    baseline: AccuracyBaseline = read_baseline(file.read(LIMIT_BYTES + 1), file.name)
    column = column_named(row, baseline.reference)
    now = baseline_of(row, column, _accuracy_or_404(row, column))
    return judge_against_baseline(baseline, now, form.cleaned_data["tolerance"])


def _accuracy_or_404(row: BasicBlockSet, column: BlockColumn) -> Json:
    accuracy = known_accuracy(row, columns_of(row), column).accuracy
    if accuracy is None:
        raise Http404(f"the columns have not been compared with {column.name} yet: press Compare on Accuracy")
    return accuracy


urlpatterns = [
    path("block-sets/<int:pk>/compare/", block_set_compare, name="block-set-compare"),
    path("block-sets/<int:pk>/accuracy.csv", block_set_accuracy_csv, name="block-set-accuracy-csv"),
    path("block-sets/<int:pk>/baseline.json", block_set_baseline, name="block-set-baseline"),
    path("block-sets/<int:pk>/gate/", block_set_gate, name="block-set-gate"),
]

PRESENTATIONS = {"accuracy": KindPresentation(words=accuracy_description, outcomes=outcomes_of)}
PANELS = (
    PagePanel(
        PanelPlace.BLOCK_SET_TOP, "verdict", "Verdict", "inference/column_accuracy/top.html", top_context
    ),
    PagePanel(
        PanelPlace.BLOCK_SET,
        "accuracy",
        "Accuracy",
        "inference/column_accuracy/tab.html",
        lambda request, subject: accuracy_tab(request, subject.row, subject.columns),
    ),
)
