"""One button that finds the ports of a machine's processor: probes, measured one question after the other."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.queries.machines import machines, unfinished_inference_on
from inference.runs.jobs.beginnings import search_for_ports
from inference.views.starting import NOTHING_STARTED, start_or_tell


@require_POST
def find_ports(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the inference and show its run; a second press leads to the one that is under way."""
    machine = get_object_or_404(machines(), pk=pk)
    run = unfinished_inference_on(machine, "cegar")
    if run is None:
        config, name = search_for_ports(machine), f"Ports of {machine.name}"[:190]
        run = start_or_tell(request, "infer", config, name, lead=NOTHING_STARTED)
    return redirect("machine", pk=pk) if run is None else redirect("run", pk=run.pk)


urlpatterns = [path("machines/<int:pk>/find-ports/", find_ports, name="find-ports")]
