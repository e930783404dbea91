"""The first step of a new user: one button that measures this very computer and infers its port mapping."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.queries.machines import local_machine, obstacle, unfinished_inference_on
from inference.runs.jobs.beginnings import starter_inference
from inference.views.starting import NOTHING_STARTED, start_or_tell

RUN_NAME = "This computer: starter set"


@require_POST
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
        run = start_or_tell(request, "infer", config, RUN_NAME, lead=NOTHING_STARTED)
    return redirect("start") if run is None else redirect("run", pk=run.pk)


urlpatterns = [path("machines/measure-this-computer/", measure_this_computer, name="measure-this-computer")]
