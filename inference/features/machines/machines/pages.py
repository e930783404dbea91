"""Machines: the list, adding one, a machine's page, its tokens, and the agent to download."""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from inference.agent.packing import PackingError, packed
from inference.core.protocols import Json
from inference.features.library.mappings.query import port_mappings
from inference.features.library.sets.query import experiment_sets
from inference.features.machines.machines import trust
from inference.features.machines.machines.query import (
    MachineView,
    dotted_python,
    machines,
    noise_of,
    queues_at,
    readings_of,
    shares_of,
    shown,
)
from inference.figures.noise import NoiseReading, noise_over_time
from inference.measuring.quieting import advice_for, help_for_unfit
from inference.models import AgentToken, Machine
from inference.models.run import runs_on
from inference.runs.kinds import label_of
from inference.runs.machines.facts import obstacle_to_measuring, unsupported_runs
from inference.runs.machines.tokens import AGENT_FILE, add_machine, agent_line, issue, revoke
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.menus import MenuPlace, entries_of
from inference.web.naming import delete_page, edit_page, validate_line
from inference.web.panels import PanelPlace, shown_panels
from inference.web.requests import one_of


def machine_list(request: HttpRequest) -> HttpResponse:
    """All machines, those with agents first."""
    rows = [shown(machine) for machine in machines()]
    return render(request, "inference/machines/list.html", {"rows": rows})


# Adding a machine: a name, then the line to paste there, with a token that is shown this once.


DEFAULT_PORTS = {"http": "80", "https": "443"}


class AddMachineForm(forms.Form):
    """The name of a machine that is new here."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="What you call that computer: “lab, Zen 4”. Pages and commands find it by this name.",
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "off"}),
        validators=[validate_line],
    )

    def clean_name(self) -> str:
        """Refuse a name in use, and offer a free one."""
        name: str = self.cleaned_data["name"]
        if Machine.objects.filter(name=name).exists():
            raise ValidationError(
                f"Another machine has this name; {free_name(Machine, name)!r} would be free. For a new token "
                "of that machine, open its page."
            )
        return name


@dataclass(frozen=True)
class SiteAddress:
    """How an agent finds this site, as seen from the browser that asks."""

    site: str
    host: str
    port: str
    token: str

    @property
    def line(self) -> str:
        """What to paste on the target."""
        program = f"{self.site}{reverse('agent-download')}"
        return f"curl -fsSO {shlex.quote(program)} && {agent_line(self.site, self.token)}"

    @property
    def reaches_only_itself(self) -> bool:
        """Whether the address means another computer on every computer."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:  # a name
            return False


def connection_for(request: HttpRequest, token: str) -> SiteAddress:
    """With the address that the browser used: it is one by which the site is reached."""
    scheme = request.scheme or "http"
    answered = request.get_host()
    host, colon, port = answered.rpartition(":")
    if not colon or answered.endswith("]"):  # [::1] has colons, but no port
        host, port = answered, DEFAULT_PORTS.get(scheme, "")
    return SiteAddress(f"{scheme}://{answered}", host, port, token)


@never_cache
def machine_add(request: HttpRequest) -> HttpResponse:
    """Ask for a name; then make the machine and show the line to paste there."""
    form = AddMachineForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        return line_to_paste(request, add_machine(form.cleaned_data["name"]), is_new=True)
    context = {"form": form, "python": dotted_python()}
    return render(request, "inference/machines/add.html", context, status=400 if form.is_bound else 200)


def line_to_paste(
    request: HttpRequest, machine: Machine, *, is_new: bool = False, lifetime: timedelta | None = None
) -> HttpResponse:
    """Issue a token and show it: the answer to a POST, so that no address has it.

    Views that give it back are `never_cache`.
    """
    connection = connection_for(request, issue(machine, lifetime))
    context = {
        "machine": machine,
        "is_new": is_new,
        "connection": connection,
        "python": dotted_python(),
        "row": shown(machine),
    }
    return render(request, "inference/machines/connect.html", context)


def machine_arrival(request: HttpRequest, pk: int) -> HttpResponse:
    """Whether a machine has connected yet: the part of the page above that is asked for again and again."""
    machine = get_object_or_404(machines(), pk=pk)
    return render(request, "inference/machines/arrival.html", {"machine": machine, "row": shown(machine)})


# A machine's page: how it is doing, what it is, how to make it quiet, and what was measured on it.


WINDOWS = {"1": "hour", "24": "day", "168": "week"}
"""Hours that the picture of the noise may show, and their names."""

NEWEST = 8


def machine(request: HttpRequest, pk: int) -> HttpResponse:
    """One machine."""
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


def machine_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a machine."""
    return edit_page(request, get_object_or_404(Machine, pk=pk), "machine", "machines")


def machine_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a machine after showing what depends on it."""
    return delete_page(request, get_object_or_404(Machine, pk=pk), "machine", "machines")


# The tokens of a machine's agent: a new one, and taking one back.


LIFETIMES = ("", "30", "90", "365")
"""Days that a token may be valid for; empty: until it is revoked."""


@never_cache
@require_POST
def machine_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Issue another token and show the line to paste. Tokens issued before stay valid."""
    machine = get_object_or_404(Machine, pk=pk)
    if machine.kind != Machine.Kind.AGENT:
        raise Http404(f"{machine.name} is no computer with an agent, so it needs no token")
    days = request.POST.get("days", "")
    if days not in LIFETIMES:
        raise BadRequest(f"A token is valid for {', '.join(filter(None, LIFETIMES))} days or without end.")
    return line_to_paste(request, machine, lifetime=timedelta(days=int(days)) if days else None)


@require_POST
def machine_token_revoke(request: HttpRequest, pk: int, token_pk: int) -> HttpResponse:
    """Take a token back: an agent that comes with it is refused from now on."""
    token = get_object_or_404(AgentToken.objects.select_related("machine"), pk=token_pk, machine_id=pk)
    if token.revoked is None:
        revoke(token)
    messages.success(request, "The token has been revoked.")
    return redirect("machine", pk=pk)


# The agent as one file, for whoever is to measure: it carries no secret, so it needs no log-in.


@require_safe
def agent(_request: HttpRequest) -> HttpResponse:
    """The packed agent; where it cannot be packed, a sentence that says what this installation lacks."""
    try:
        content = packed()
    except PackingError as error:
        return HttpResponse(f"{error}\n", status=503, content_type="text/plain; charset=utf-8")
    return HttpResponse(
        content,
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{AGENT_FILE}"'},
    )


urlpatterns = [
    path("machines/", machine_list, name="machines"),
    path("machines/add/", machine_add, name="machine-add"),
    path("machines/<int:pk>/arrival/", machine_arrival, name="machine-arrival"),
    path("machines/<int:pk>/", machine, name="machine"),
    path("machines/<int:pk>/state/", machine_state, name="machine-state"),
    path("machines/<int:pk>/noise/", machine_noise, name="machine-noise"),
    path("machines/<int:pk>/edit/", machine_edit, name="machine-edit"),
    path("machines/<int:pk>/delete/", machine_delete, name="machine-delete"),
    path("machines/<int:pk>/token/", machine_token, name="machine-token"),
    path(
        "machines/<int:pk>/tokens/<int:token_pk>/revoke/", machine_token_revoke, name="machine-token-revoke"
    ),
    path(f"agent/{AGENT_FILE}", agent, name="agent-download"),
    *trust.urlpatterns,
]
