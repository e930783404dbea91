"""The pages of machines: the list, a machine with its state and facts, and the accuracy of its
measurements."""

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
    machine_view,
    machines,
    noise_of,
    queues_at,
    readings_of,
    shares_of,
)
from inference.features.machines.machines.trust import (
    GOOD_NOISE,
    MAX_NOISE,
    drift_rounds,
    findings,
    known_answers,
    shares_by_set,
)
from inference.figures.noise import (
    HEIGHT,
    WIDTH,
    NoiseReading,
    disturbed_by_hour,
    disturbed_spans,
    noise_over_time,
    trust_picture,
)
from inference.measuring.noise_advice import advice_for, help_for_unfit
from inference.models import Machine
from inference.models.run import runs_on
from inference.runs.kinds import label_of
from inference.runs.machines.facts import obstacle_to_measuring, unsupported_runs
from inference.web.contributions import MenuPlace, PanelPlace, entries_of, rendered_panels
from inference.web.listed_mappings import listed_mappings
from inference.web.naming import naming_paths
from inference.web.validation import choice_parameter


def machine_list(request: HttpRequest) -> HttpResponse:
    rows = [machine_view(machine) for machine in machines()]
    return render(request, "inference/machines/list.html", {"rows": rows})


WINDOWS = {"1": "hour", "24": "day", "168": "week"}
"""{hours: name} of the periods that plots can show."""

MAX_LISTED = 8


def machine(request: HttpRequest, pk: int) -> HttpResponse:
    machine_row = get_object_or_404(machines(), pk=pk)
    state = state_of(machine_row)
    row: MachineView = state["row"]
    hours = choice_parameter(request, "hours", tuple(WINDOWS), "24")
    readings = _readings(machine_row, hours)
    unsupported = unsupported_runs(machine_row)
    context: dict[str, Any] = {
        **state,
        "hindered": obstacle_to_measuring(machine_row),
        "has_blocks": "block" not in unsupported,
        "has_profile": "know" not in unsupported,
        "has_chains": "latencies" not in unsupported,
        "unsupported": _by_reason(unsupported),
        "facts": _facts(row),
        "offers": entries_of(MenuPlace.MACHINE, machine_row),
        "hours": hours,
        "windows": WINDOWS.items(),
        "shares": shares_of(readings),
        "any_reading": bool(readings),
        "runs": runs_on(machine_row)[:MAX_LISTED],
        "sets": experiment_sets().filter(machine=machine_row).order_by("-id")[:MAX_LISTED],
        "panels": rendered_panels(request, PanelPlace.MACHINE, machine_row),
        "mappings": listed_mappings(port_mappings().filter(machine=machine_row).order_by("-id")[:MAX_LISTED]),
    }
    if row.has_agent:
        context |= {
            "advice": advice_for(machine_row.facts, state["noise"]) if machine_row.facts else [],
            "tokens": (tokens := list(machine_row.tokens.order_by("-id"))),
            "token_groups": [
                (revoked, group)
                for revoked in (False, True)
                if (group := [token for token in tokens if bool(token.revoked) == revoked])
            ],
        }
    return render(request, "inference/machines/machine.html", context)


def state_of(machine_row: Machine) -> dict[str, Any]:
    """The context of the part of the page that is polled."""
    row = machine_view(machine_row)
    return {
        "machine": machine_row,
        "row": row,
        "noise": noise_of(machine_row) if row.has_agent else None,
        "queues": queues_at(machine_row),
        "unfit_help": help_for_unfit(machine_row.facts) if row.condition.key == "unfit" else "",
    }


def machine_state(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "inference/machines/state.html", state_of(get_object_or_404(machines(), pk=pk)))


def _by_reason(unsupported: Mapping[str, str]) -> list[tuple[str, str]]:
    """(labels of unsupported kinds of runs, reason), each reason once."""
    labels: dict[str, list[str]] = {}
    for kind, reason in unsupported.items():
        labels.setdefault(reason, []).append(label_of(kind))
    return [(", ".join(names), reason) for reason, names in labels.items()]


def _readings(machine_row: Machine, hours: str) -> list[NoiseReading]:
    return readings_of(machine_row, timezone.now() - timedelta(hours=int(hours)))


def _facts(row: MachineView) -> list[tuple[str, str]]:
    """(label, value) of the facts that the agent reports; unknown ones are left out."""
    facts: Json = row.machine.facts
    virtual = {True: f"yes, {facts.get('hypervisor') or 'unknown host'}", False: "no"}
    core = facts.get("core")
    labelled = [
        ("Processor", row.machine.cpu or facts.get("cpu")),
        ("Microarchitecture", _microarchitecture(row)),
        ("Instruction set", row.machine.isa.name),
        ("Emulated", _emulator_name(facts)),
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
    return [(label, str(value)) for label, value in labelled if value not in (None, "")]


def _emulator_name(facts: Json) -> str | None:
    emulator = facts.get("emulated")
    return f"by {emulator}: its times mean nothing" if emulator else None


def _kind_of_core(facts: Json) -> str | None:
    """The kind of core of a hybrid processor on which this machine measures; None for others."""
    kind = facts.get("core_type")
    return f"{kind}, processors {facts.get('core_cpus')}" if kind else None


def _microarchitecture(row: MachineView) -> str | None:
    core = row.microarchitecture
    return None if core is None else f"{core.name}, {core.ports} ports"


def _identification(facts: Json) -> str | None:
    numbers = [facts.get(name) for name in ("family", "model", "stepping")]
    if None in numbers:
        return None
    return f"{facts.get('vendor') or 'unknown vendor'} " + ", ".join(map(str, numbers))


def machine_noise(request: HttpRequest, pk: int) -> HttpResponse:
    """The plot of a machine's noise as JSON for plotly; null without readings."""
    machine_row = get_object_or_404(Machine, pk=pk)
    readings = _readings(machine_row, choice_parameter(request, "hours", tuple(WINDOWS), "24"))
    return JsonResponse(noise_over_time(readings) if readings else None, safe=False)


_MAX_SPANS = 12
_MAX_ROUNDS = 40

_TRUST_ANSWERS = {
    "good": "Yes: no finding speaks against its measurements.",
    "mind": "Yes, with care: settled results are reliable, but see the findings below.",
    "change": "Not now: see the findings below before you rely on its measurements.",
}


def machine_trust(request: HttpRequest, pk: int) -> HttpResponse:
    """Noise, clock and rate over time, disturbed periods, reference blocks, drift checks, and shares by
    set."""
    machine_row = get_object_or_404(machines(), pk=pk)
    hours = choice_parameter(request, "hours", tuple(WINDOWS), "24")
    since = timezone.now() - timedelta(hours=int(hours))
    readings = readings_of(machine_row, since)
    rounds, shares = drift_rounds(machine_row, since), shares_by_set(machine_row)
    findings_list = findings(readings, rounds, shares)
    context = {
        "machine": machine_row,
        "row": machine_view(machine_row),
        "hours": hours,
        "windows": WINDOWS.items(),
        "picture": trust_picture(readings),
        "width": WIDTH,
        "height": HEIGHT,
        "state_shares": shares_of(readings),
        "findings": findings_list,
        "answer": _TRUST_ANSWERS[findings_list[0].verdict]
        if findings_list
        else "Unknown: its agent has not connected yet.",
        "spans": disturbed_spans(readings, _MAX_SPANS),
        "by_hour": disturbed_by_hour(readings) if hours == "168" and readings else None,
        "known": known_answers(machine_row),
        "good_error": 100 * GOOD_NOISE,
        "most_error": 100 * MAX_NOISE,
        "rounds": rounds[:_MAX_ROUNDS],
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
