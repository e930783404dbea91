"""Pages that start inferences: the form with estimate and presets, and quick starts with default settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.learning.inferring import cegar_page, front
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.cegar_page import SearchRecord, evidence_context
from inference.features.learning.inferring.form import SETTING, InferForm, text_of
from inference.features.learning.inferring.front import front_of, front_tab, most_accurate
from inference.features.learning.inferring.outcome_lists import ExplainRecord
from inference.features.learning.inferring.planning import InferencePlan, initial_of, plan
from inference.features.learning.inferring.pmevo_page import EvolutionRecord, evolution_live
from inference.features.learning.inferring.request import archived, search_for_ports, starter_inference
from inference.features.learning.inferring.run_page import infer_lines, inference
from inference.features.library.sets.query import experiment_sets
from inference.features.machines.machines.query import (
    MachineView,
    dotted_python,
    local_machine,
    machine_view,
    machines,
    obstacle,
    unfinished_inference_on,
)
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.isa import llvm_mc
from inference.isa.search import SearchError
from inference.isa.targets import AARCH64  # isa-name: a page is about boards with it
from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.models.scheme_search import PROBE_SELECTION
from inference.runs.machines.facts import obstacle_to_measuring
from inference.storage.evidence import KEY as EVIDENCE
from inference.storage.instruction_sets import code_isa_row
from inference.web.contributions import PagePanel, PanelPlace
from inference.web.request_fields import NOT_STARTED, start_run
from inference.web.validation import choice_parameter, number_parameter, row_id_or_none, row_parameter


def infer(request: HttpRequest) -> HttpResponse:
    """Shows the form, applies a preset, estimates, or starts the run."""
    if request.method != "POST":
        return _page(request, InferForm(initial=_initial(request)), _fork_run(request.GET))
    press = request.POST.get("press", "estimate")
    forked = _fork_run(request.POST)
    if press.startswith("preset:"):
        return _page(request, InferForm(_with_preset(request.POST, press.removeprefix("preset:"))), forked)
    form = InferForm(request.POST)
    estimate = _plan(form, forked)
    if press == "start" and estimate is not None:
        run = start_run(request, "infer", estimate.config, form=form, forked_from=forked)
        if run is not None:
            return redirect("run", pk=run.pk)
    status = 400 if press == "start" else 200
    return _page(request, form, forked, estimate, status=status)


def _plan(form: InferForm, forked: Run | None) -> InferencePlan | None:
    """The plan of a valid form, else None; an invalid search, or one without matches, becomes an error of its
    field.
    """
    if not form.is_valid():
        return None
    try:
        valid_plan = plan(form, forked)
    except SearchError as error:
        form.add_error("filter", str(error))
        return None
    if form.errors:
        return None
    if not valid_plan.schemes:
        form.add_error("selection", "The source has none of these schemes. Choose others, or another source.")
        return None
    return valid_plan


def _fork_run(query: QueryDict) -> Run | None:
    number = row_id_or_none(query.get("from", ""))
    return None if number is None else get_object_or_404(Run, pk=number, kind="infer")


def _initial(request: HttpRequest) -> dict[str, Any]:
    if number_parameter(request, "from") is not None:
        forked = _fork_run(request.GET)
        assert forked is not None
        return initial_of(forked)
    algorithm = choice_parameter(request, "algorithm", tuple(ALGORITHMS), next(iter(ALGORITHMS)))
    has_sets = ExperimentSet.objects.exists()
    initial: dict[str, Any] = {
        "algorithm": algorithm,
        "source": "datasets" if has_sets else "simulate",
    }
    named = request.GET.getlist("dataset")
    if named:
        initial["datasets"] = list(ExperimentSet.objects.filter(name__in=named).values_list("pk", flat=True))
    if simulated := number_parameter(request, "simulate"):
        initial |= {"source": "simulate", "mapping": simulated}
    machine = row_parameter(request, "machine", Machine.objects.all())
    if machine is not None:
        selection = first_selection(machine)
        if ALGORITHMS[algorithm].exact and machine.kind == Machine.Kind.AGENT:
            selection = PROBE_SELECTION
        elif ALGORITHMS[algorithm].explores and machine.kind == Machine.Kind.AGENT:
            selection = "default"
        initial |= {"source": "machine", "machine": machine.pk, "selection": selection}
    return initial


def first_selection(machine: Machine) -> str:
    """The default selection: on a computer, schemes that are measured within minutes."""
    return "starter" if machine.kind == Machine.Kind.AGENT else "all"


@dataclass(frozen=True)
class MachineChoice:
    """A machine in the form, with its default selection; `obstacle` is why it cannot be chosen, "" if it
    can.
    """

    row: MachineView
    picked: bool
    selection: str
    obstacle: str


def _machine_choices(form: InferForm) -> list[MachineChoice]:
    selected = str(form["machine"].value() or "")
    return [
        MachineChoice(
            machine_view(machine),
            str(machine.pk) == selected,
            first_selection(machine),
            obstacle_to_measuring(machine),
        )
        for machine in machines().exclude(kind=Machine.Kind.PUBLISHED)
    ]


def _with_preset(data: QueryDict, name: str) -> QueryDict:
    offer = InferForm(data).offer
    completed = data.copy()
    for key, value in preset_values(offer.key, name).items():
        completed[key] = value
    return completed


def preset_values(algorithm: str, name: str) -> dict[str, str]:
    """{form field: text} for every setting except ports and R_max; an unknown preset gives the defaults."""
    form = InferForm(initial={"algorithm": algorithm})
    special = form.offer.presets.get(name, {})
    return {
        SETTING + setting.name: special.get(setting.name, setting.default_text)
        for setting in form.offer.tunables()
        if setting.name not in ("ports", "r_max")
    }


def _preset(form: InferForm, name: str) -> dict[str, Any]:
    """A preset's button, active if the form has exactly its values."""
    values = preset_values(form.offer.key, name)
    active = all(
        text_of(form[field]) == (text or form[field].field.initial) for field, text in values.items()
    )
    return {"name": name, "values": json.dumps(values), "active": active}


def _page(
    request: HttpRequest,
    form: InferForm,
    forked: Run | None,
    estimate: InferencePlan | None = None,
    status: int = 200,
) -> HttpResponse:
    selected = {str(pk) for pk in form["datasets"].value() or []}
    sets = list(experiment_sets().order_by("-id"))
    for row in sets:
        row.picked = str(row.pk) in selected  # type: ignore[attr-defined]
    choices = _machine_choices(form)
    context = {
        "form": form,
        "forked_from": forked,
        "sets": sets,
        "machines": choices,
        "sources": [
            ("datasets", "Recorded measurements", bool(sets)),
            ("simulate", "A simulated processor", PortMapping.objects.exists()),
            ("machine", "A machine", bool(choices)),
        ],
        "presets": [_preset(form, name) for name in form.offer.presets],
        "estimate": estimate,
        "estimate_error": _first_error(form) if form.is_bound and estimate is None else "",
        "pressed_start": status == 400,
    }
    return render(request, "inference/inferring/page.html", context, status=status)


def _first_error(form: InferForm) -> str:
    """The first error of the form, which prevents an estimate."""
    field, errors = next(iter(form.errors.items()), ("", [""]))
    label = form[field].label if field in form.fields and not field.endswith("s") else ""
    return f"{label}: {errors[0]}" if label else str(errors[0])


def measure_this_computer(request: HttpRequest) -> HttpResponse:
    """Start the inference and show its run; a second press leads to the one that is under way."""
    machine = local_machine()
    reason = obstacle(machine)
    if machine is None or reason:
        messages.error(request, f"{NOT_STARTED}{reason}")
        return redirect("start")
    run = unfinished_inference_on(machine, "pmevo")
    if run is None:
        config = starter_inference(machine)
        run = start_run(request, "infer", config, lead=NOT_STARTED)
    return redirect("start") if run is None else redirect("run", pk=run.pk)


def find_ports(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the inference and show its run; a second press leads to the one that is under way."""
    machine = get_object_or_404(machines(), pk=pk)
    run = unfinished_inference_on(machine, "cegar")
    if run is None:
        run = start_run(request, "infer", search_for_ports(machine), lead=NOT_STARTED)
    return redirect("machine", pk=pk) if run is None else redirect("run", pk=run.pk)


def set_learn(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts PMEvo on the set with default settings."""
    experiment_set = get_object_or_404(ExperimentSet, pk=pk)
    config: Json = {"algorithm": "pmevo", "source": {"datasets": [experiment_set.pk]}}
    run = start_run(request, "infer", config, lead=NOT_STARTED)
    return redirect("set", pk=experiment_set.pk) if run is None else redirect("run", pk=run.pk)


def arm_boards(request: HttpRequest) -> HttpResponse:
    """The page about Arm boards, with this site's prerequisites."""
    context = {
        "isa": code_isa_row(AARCH64),
        "assembler": llvm_mc.program(),
        "python": dotted_python(),
    }
    return render(request, "inference/inferring/arm.html", context)


urlpatterns = [
    path("infer/", infer, name="infer"),
    path("sets/<int:pk>/learn/", set_learn, name="set-learn"),
    path("machines/measure-this-computer/", measure_this_computer, name="measure-this-computer"),
    path("machines/<int:pk>/find-ports/", find_ports, name="find-ports"),
    path("machines/arm/", arm_boards, name="machines-arm"),
    *cegar_page.urlpatterns,
    *front.urlpatterns,
]

PRESENTATIONS = {
    "infer": KindPresentation(words=infer_lines, page=inference, live=evolution_live, archived=archived)
}
RECORDS = {"search": SearchRecord, "evolution": EvolutionRecord, "explain": ExplainRecord}
PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "front",
        "Accuracy vs. size",
        "inference/inferring/front.html",
        lambda _request, subject: front_tab(subject.row),
        order=70,
        applies=lambda subject: subject.once(front_of) is not None,
        scripts=("js/front.js",),
    ),
    PagePanel(
        PanelPlace.MAPPING,
        "evidence",
        "Evidence",
        "inference/inferring/evidence.html",
        lambda request, subject: evidence_context(request, subject.row),
        order=90,
        applies=lambda subject: EVIDENCE in subject.row.report,
    ),
    PagePanel(
        PanelPlace.BELOW_MAPPING,
        "most accurate",
        "",
        "inference/inferring/most_accurate.html",
        lambda _request, subject: most_accurate(subject.once(front_of)),
    ),
)
