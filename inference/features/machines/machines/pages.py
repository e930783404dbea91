"""Machines: the list, and a machine's page: how it is doing, what it is, whether to trust its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path
from django.utils import timezone

from inference.core.protocols import Json
from inference.features.library.mappings.query import port_mappings
from inference.features.library.sets.query import experiment_sets
from inference.features.machines.machines.query import (
    MachineView,
    machines,
    noise_of,
    queues_at,
    readings_of,
    shares_of,
    shown,
)
from inference.features.machines.machines.trust import drift_rounds, findings, known_answers, shares_by_set
from inference.figures.noise import (
    HEIGHT,
    WIDTH,
    NoiseReading,
    disturbed_by_hour,
    disturbed_spans,
    noise_over_time,
    trust_picture,
)
from inference.measuring.quieting import advice_for, help_for_unfit
from inference.models import Machine
from inference.models.run import runs_on
from inference.runs.kinds import label_of
from inference.runs.machines.facts import obstacle_to_measuring, unsupported_runs
from inference.web.contributions import MenuPlace, PanelPlace, entries_of, shown_panels
from inference.web.naming import naming_paths
from inference.web.validation import one_of


def machine_list(request: HttpRequest) -> HttpResponse:
    """All machines, those with agents first."""
    rows = [shown(machine) for machine in machines()]
    return render(request, "inference/machines/list.html", {"rows": rows})


WINDOWS = {"1": "hour", "24": "day", "168": "week"}
"""Hours that the picture of the noise may show, and their names."""

NEWEST = 8


def machine(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(machines(), pk=pk)
    state = state_of(found)
    row: MachineView = state["row"]
    hours = one_of(request, "hours", tuple(WINDOWS), "24")
    readings = _readings(found, hours)
    unsupported = unsupported_runs(found)
    context: dict[str, Any] = {
        **state,
        "hindered": obstacle_to_measuring(found),
        "has_blocks": "block" not in unsupported,
        "has_chains": "latencies" not in unsupported,
        "unsupported": _by_reason(unsupported),
        "facts": _facts(row),
        "offers": entries_of(MenuPlace.MACHINE, found),
        "hours": hours,
        "windows": WINDOWS.items(),
        "shares": shares_of(readings),
        "any_reading": bool(readings),
        "runs": runs_on(found)[:NEWEST],
        "sets": experiment_sets().filter(machine=found).order_by("-id")[:NEWEST],
        "panels": shown_panels(request, PanelPlace.MACHINE, found),
        "mappings": port_mappings().filter(machine=found).order_by("-id")[:NEWEST],
    }
    if row.has_agent:
        context |= {
            "advice": advice_for(found.facts, state["noise"]) if found.facts else [],
            "tokens": found.tokens.order_by("-id"),
        }
    return render(request, "inference/machines/machine.html", context)


def state_of(found: Machine) -> dict[str, Any]:
    """What the part of the page needs that follows the machine."""
    row = shown(found)
    return {
        "machine": found,
        "row": row,
        "noise": noise_of(found) if row.has_agent else None,
        "queues": queues_at(found),
        "unfit_help": help_for_unfit(found.facts) if row.condition.key == "unfit" else "",
    }


def machine_state(request: HttpRequest, pk: int) -> HttpResponse:
    """That part alone, for a page that asks again and again."""
    return render(request, "inference/machines/state.html", state_of(get_object_or_404(machines(), pk=pk)))


def _by_reason(unsupported: Mapping[str, str]) -> list[tuple[str, str]]:
    """(labels of kinds of runs, why there are none of them), each reason once."""
    labels: dict[str, list[str]] = {}
    for kind, why in unsupported.items():
        labels.setdefault(why, []).append(label_of(kind))
    return [(", ".join(each), why) for why, each in labels.items()]


def _readings(found: Machine, hours: str) -> list[NoiseReading]:
    return readings_of(found, timezone.now() - timedelta(hours=int(hours)))


def _facts(row: MachineView) -> list[tuple[str, str]]:
    """What the agent says of its computer, as label and value; what it does not know is left out."""
    facts: Json = row.machine.facts
    virtual = {True: f"yes, {facts.get('hypervisor') or 'unknown host'}", False: "no"}
    core = facts.get("core")
    found = [
        ("Processor", row.machine.cpu or facts.get("cpu")),
        ("Microarchitecture", _microarchitecture(row)),
        ("Instruction set", row.machine.isa.name),
        ("Emulated", _emulated(facts)),
        ("Family, model, stepping", _identification(facts)),
        ("Revision", facts.get("revision")),
        ("Cores", facts.get("cores")),
        ("Measures on", None if core is None else f"core {core}"),
        ("Kind of core", _kind_of_core(facts)),
        ("Virtual machine", virtual.get(facts.get("virtual"))),  # type: ignore[arg-type]
        ("Counts", row.counts),
        ("Frequency governor", facts.get("governor")),
        ("Kernel", facts.get("kernel")),
        ("Python", facts.get("python")),
        ("Host name", facts.get("host")),
    ]
    return [(label, str(value)) for label, value in found if value not in (None, "")]


def _emulated(facts: Json) -> str | None:
    emulator = facts.get("emulated")
    return f"by {emulator}: no time that it gives means anything" if emulator else None


def _kind_of_core(facts: Json) -> str | None:
    """Of a hybrid processor, which of its kinds this machine is."""
    kind = facts.get("core_type")
    return f"{kind}, processors {facts.get('core_cpus')}" if kind else None


def _microarchitecture(row: MachineView) -> str | None:
    known = row.microarchitecture
    return None if known is None else f"{known.name}, {known.ports} ports to infer with"


def _identification(facts: Json) -> str | None:
    numbers = [facts.get(name) for name in ("family", "model", "stepping")]
    if None in numbers:
        return None
    return f"{facts.get('vendor') or 'unknown vendor'} " + ", ".join(map(str, numbers))


def machine_noise(request: HttpRequest, pk: int) -> HttpResponse:
    """The picture of a machine's noise as JSON for plotly, or null without readings."""
    found = get_object_or_404(Machine, pk=pk)
    readings = _readings(found, one_of(request, "hours", tuple(WINDOWS), "24"))
    return JsonResponse(noise_over_time(readings) if readings else None, safe=False)


_SPANS = 12
_ROUNDS_SHOWN = 40

_ANSWERS = {
    "good": "Yes: nothing speaks against its numbers.",
    "mind": "Yes, with care: settled results hold, but see the marks below.",
    "change": "Not now: see the marks below before you rely on its numbers.",
}


def machine_trust(request: HttpRequest, pk: int) -> HttpResponse:
    """Noise, clock and rate over time, disturbed periods, known answers, drift checks, and shares by set."""
    found = get_object_or_404(machines(), pk=pk)
    hours = one_of(request, "hours", tuple(WINDOWS), "24")
    since = timezone.now() - timedelta(hours=int(hours))
    readings = readings_of(found, since)
    rounds, shares = drift_rounds(found, since), shares_by_set(found)
    told = findings(readings, rounds, shares)
    context = {
        "machine": found,
        "row": shown(found),
        "hours": hours,
        "windows": WINDOWS.items(),
        "picture": trust_picture(readings),
        "width": WIDTH,
        "height": HEIGHT,
        "state_shares": shares_of(readings),
        "findings": told,
        "answer": _ANSWERS[told[0].verdict] if told else "Unknown: no agent has connected yet.",
        "spans": disturbed_spans(readings, _SPANS),
        "by_hour": disturbed_by_hour(readings) if hours == "168" and readings else None,
        "known": known_answers(found),
        "rounds": rounds[:_ROUNDS_SHOWN],
        "shares": shares,
    }
    return render(request, "inference/machines/trust.html", context)


urlpatterns = [
    path("machines/", machine_list, name="machines"),
    path("machines/<int:pk>/", machine, name="machine"),
    path("machines/<int:pk>/state/", machine_state, name="machine-state"),
    path("machines/<int:pk>/noise/", machine_noise, name="machine-noise"),
    *naming_paths(Machine, "machine", "machines"),
    path("machines/<int:pk>/trust/", machine_trust, name="machine-trust"),
]
