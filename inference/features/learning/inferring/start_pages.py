"""First steps: measure this computer, find a machine's ports, measure an Arm processor."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.request import search_for_ports, starter_inference
from inference.features.machines.machines.query import (
    dotted_python,
    local_machine,
    machines,
    obstacle,
    unfinished_inference_on,
)
from inference.isa import llvm_mc
from inference.isa.targets import AARCH64  # isa-name: a page is about boards with it
from inference.models import ExperimentSet
from inference.storage.instruction_sets import code_isa_row
from inference.web.run_forms import NOTHING_STARTED, start_run

RUN_NAME = "This computer: starter set"


def measure_this_computer(request: HttpRequest) -> HttpResponse:
    """Start the inference and show its run; a second press leads to the one that is under way."""
    machine = local_machine()
    hindered = obstacle(machine)
    if machine is None or hindered:
        messages.error(request, f"Nothing was started. {hindered}")
        return redirect("start")
    run = unfinished_inference_on(machine, "pmevo")
    if run is None:
        config = starter_inference(machine)
        run = start_run(request, "infer", config, RUN_NAME, lead=NOTHING_STARTED)
    return redirect("start") if run is None else redirect("run", pk=run.pk)


def find_ports(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the inference and show its run; a second press leads to the one that is under way."""
    machine = get_object_or_404(machines(), pk=pk)
    run = unfinished_inference_on(machine, "cegar")
    if run is None:
        config, name = search_for_ports(machine), f"Ports of {machine.name}"[:190]
        run = start_run(request, "infer", config, name, lead=NOTHING_STARTED)
    return redirect("machine", pk=pk) if run is None else redirect("run", pk=run.pk)


def set_learn(request: HttpRequest, pk: int) -> HttpResponse:
    """Start PMEvo on the set with its usual settings, and show the run."""
    found = get_object_or_404(ExperimentSet, pk=pk)
    config: Json = {"algorithm": "pmevo", "source": {"datasets": [found.pk]}}
    name = f"{ALGORITHMS['pmevo'].title} on {found.name}"[:180]
    run = start_run(request, "infer", config, name, lead=NOTHING_STARTED)
    return redirect("set", pk=found.pk) if run is None else redirect("run", pk=run.pk)


def arm_boards(request: HttpRequest) -> HttpResponse:
    """The page, with what this site has of what it takes."""
    context = {
        "isa": code_isa_row(AARCH64),
        "assembler": llvm_mc.program(),
        "python": dotted_python(),
    }
    return render(request, "inference/inferring/arm.html", context)


urlpatterns = [
    path("sets/<int:pk>/learn/", set_learn, name="set-learn"),
    path("machines/measure-this-computer/", measure_this_computer, name="measure-this-computer"),
    path("machines/<int:pk>/find-ports/", find_ports, name="find-ports"),
    path("machines/arm/", arm_boards, name="machines-arm"),
]
