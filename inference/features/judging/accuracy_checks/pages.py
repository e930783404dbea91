"""The button that checks a core model, and the former URLs of accuracy checks, which redirect."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.features.asking.predictors.kinds import MEASURING
from inference.features.judging.accuracy_checks.core_verdict import (
    CHECKED_BLOCKS,
    judged_predictors,
    verdict_context,
)
from inference.features.judging.accuracy_checks.query import check_description, check_of
from inference.features.judging.accuracy_checks.request import KIND
from inference.features.judging.engine.addresses import (
    QueryValue,
    comparisons_of,
    redirecting_to_comparison,
    redirecting_to_form,
    redirecting_to_list,
)
from inference.features.judging.engine.tables import check_table
from inference.features.library.uploads.query import waiting_uploads
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.formats.quoting import csv_text
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import LOOP
from inference.models import Machine, Run, StoredCoreModel, Upload
from inference.runs.machines.facts import obstacle_to_measuring
from inference.web.contributions import Context, MenuEntry, MenuPlace, PagePanel, PanelPlace
from inference.web.file_answers import table_answer
from inference.web.request_fields import NOT_STARTED, start_run
from inference.web.validation import number_parameter, parse_int, row_id_or_none


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


@require_POST
def check_core_model(request: HttpRequest, pk: int) -> HttpResponse:
    """Start a check of a core model on blocks that its machine measures, and show the run."""
    row = get_object_or_404(StoredCoreModel, pk=pk)
    block_set = parse_int(request.POST.get("block_set", ""), "block_set")
    config = {"machine": row.machine_id, "block_set": block_set, "blocks": CHECKED_BLOCKS}
    run = start_run(request, KIND, config, lead=NOT_STARTED)
    return redirect("core-model", pk) if run is None else redirect("run", run.pk)


PROGRAM_BLOCKS, PROGRAM_ROUNDS = 200, 3
"""The check of a program: different loops at most, and measurements of each: some minutes."""


def program_context(upload: Upload) -> Context:
    """The machines that can measure the loops of a program, and its newest check."""
    rows = Machine.objects.filter(isa__name=DEFAULT, kind__in=MEASURING).select_related("isa")
    obstacles = {machine: obstacle_to_measuring(machine) for machine in rows.order_by("-local", "name")}
    return {
        "upload": upload,
        "machines": [machine for machine, obstacle in obstacles.items() if not obstacle],
        "obstacles": [obstacle for obstacle in obstacles.values() if obstacle],
        "check": Run.objects.filter(kind=KIND, config__upload=upload.pk).order_by("-pk").first(),
        "most": PROGRAM_BLOCKS,
    }


@require_POST
def program_judge(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the run that measures the loops of an uploaded program on the posted machine, and scores all
    predictors on them.
    """
    upload = get_object_or_404(waiting_uploads(), pk=pk)
    config = {
        "machine": row_id_or_none(request.POST.get("machine", "")),
        "upload": upload.pk,
        "mode": LOOP,
        "blocks": PROGRAM_BLOCKS,
        "rounds": PROGRAM_ROUNDS,
    }
    run = start_run(request, KIND, config)
    return redirect("anica-loops", upload.pk) if run is None else redirect("comparison", run.pk)


urlpatterns = [
    path("uploads/<int:pk>/judge/", program_judge, name="program-judge"),
    path("core-models/<int:pk>/check/", check_core_model, name="core-model-check"),
    path("accuracy/", redirecting_to_list(KIND), name="accuracy-checks"),
    path("accuracy/<int:pk>/", redirecting_to_comparison(KIND), name="accuracy-check"),
    path("accuracy/<int:pk>/scores.csv", accuracy_check_csv, name="accuracy-check-csv"),
    path("accuracy/new/", redirecting_to_form(_form_fields), name="accuracy-check-new"),
]


def _predictors(_request: HttpRequest, _subject: None) -> Context | None:
    judged = judged_predictors()
    return {"judged": judged} if judged else None


PANELS = (
    PagePanel(
        PanelPlace.PREDICTORS,
        "accuracy",
        "Accuracy",
        "inference/accuracy_checks/of_predictors.html",
        _predictors,
        order=-10,
    ),
    PagePanel(
        PanelPlace.PROGRAM,
        "judge",
        "Judge tools",
        "inference/accuracy_checks/of_program.html",
        lambda _request, upload: program_context(upload),
    ),
    PagePanel(
        PanelPlace.CORE_MODEL,
        "verdict",
        "Accuracy",
        "inference/accuracy_checks/of_core_model.html",
        verdict_context,
    ),
)
PRESENTATIONS = {"accuracy-check": KindPresentation(words=check_description, outcomes=comparisons_of)}
MENUS = (
    MenuEntry(
        MenuPlace.MACHINE,
        "Check accuracy …",
        "accuracy-check-new",
        "Accuracy of its core model, its mappings and all tools on blocks measured on it",
        "chart",
    ),
)
