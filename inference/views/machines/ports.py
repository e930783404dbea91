"""One button that finds the ports of a machine's processor: probes, measured one question after the other."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.core.protocols import Json
from inference.models import Machine
from inference.models.scheme_search import PROBE_SELECTION
from inference.queries.machines import machines, unfinished_inference_on
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name

MOST_PORTS = 14  # Zen 5 has six ALUs, four address generators and four vector pipes
MIXES = 60  # to judge by: a second or two, not half a minute


@require_POST
def find_ports(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the inference and show its run; a second press leads to the one that is under way."""
    machine = get_object_or_404(machines(), pk=pk)
    run = unfinished_inference_on(machine, "cegar")
    if run is None:
        try:
            name = unused_name(f"Ports of {machine.name}"[:190])
            run = submit("infer", config_for(machine), name, user=request.user)
        except ConfigError as error:
            messages.error(request, f"Nothing was started: {error}")
            return redirect("machine", pk=pk)
    return redirect("run", pk=run.pk)


def config_for(machine: Machine) -> Json:
    """Counter-examples on the probes: ports are searched for, R_max is measured, clashes are dropped."""
    return {
        "algorithm": "cegar",
        "isa": machine.isa.name,
        "source": {"machine": machine.pk},
        "schemes": PROBE_SELECTION,
        "bottleneck": True,
        "mixes": MIXES,
        "settings": {"most_ports": MOST_PORTS, "on_clash": "drop-scheme"},
    }


urlpatterns = [path("machines/<int:pk>/find-ports/", find_ports, name="find-ports")]
