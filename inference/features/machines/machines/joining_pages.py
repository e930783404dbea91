"""How a computer joins: a machine is added, its agent gets tokens, and the agent as one file."""

from __future__ import annotations

import ipaddress
import shlex
from dataclasses import dataclass
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache

from inference.agent.packing import PackingError, packed
from inference.features.machines.machines.query import (
    dotted_python,
    machines,
    shown,
)
from inference.models import AgentToken, Machine
from inference.runs.machines.sessions import AGENT_FILE, add_machine, agent_line, issue, revoke
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.file_answers import attachment
from inference.web.naming import validate_line
from inference.web.request_fields import StrictForm

DEFAULT_PORTS = {"http": "80", "https": "443"}


class AddMachineForm(StrictForm):
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


LIFETIMES = ("", "30", "90", "365")
"""Days that a token may be valid for; empty: until it is revoked."""


@never_cache
def machine_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Issue another token and show the line to paste. Tokens issued before stay valid."""
    machine = get_object_or_404(Machine, pk=pk)
    if machine.kind != Machine.Kind.AGENT:
        raise Http404(f"{machine.name} is no computer with an agent, so it needs no token")
    days = request.POST.get("days", "")
    if days not in LIFETIMES:
        raise BadRequest(f"A token is valid for {', '.join(filter(None, LIFETIMES))} days or without end.")
    return line_to_paste(request, machine, lifetime=timedelta(days=int(days)) if days else None)


def machine_token_revoke(request: HttpRequest, pk: int, token_pk: int) -> HttpResponse:
    """Take a token back: an agent that comes with it is refused from now on."""
    token = get_object_or_404(AgentToken.objects.select_related("machine"), pk=token_pk, machine_id=pk)
    if token.revoked is None:
        revoke(token)
    messages.success(request, "The token has been revoked.")
    return redirect("machine", pk=pk)


def agent(_request: HttpRequest) -> HttpResponse:
    """The packed agent; where it cannot be packed, a sentence that says what this installation lacks."""
    try:
        content = packed()
    except PackingError as error:
        return HttpResponse(f"{error}\n", status=503, content_type="text/plain; charset=utf-8")
    return attachment(content, "application/zip", *AGENT_FILE.split("."))


urlpatterns = [
    path("machines/add/", machine_add, name="machine-add"),
    path("machines/<int:pk>/arrival/", machine_arrival, name="machine-arrival"),
    path("machines/<int:pk>/token/", machine_token, name="machine-token"),
    path(
        "machines/<int:pk>/tokens/<int:token_pk>/revoke/", machine_token_revoke, name="machine-token-revoke"
    ),
    path(f"agent/{AGENT_FILE}", agent, name="agent-download"),
]
