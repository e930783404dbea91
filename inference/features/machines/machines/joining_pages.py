"""Pages that connect a computer: adding a machine, issuing tokens, and downloading the agent."""

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
    machine_view,
    machines,
)
from inference.models import AgentToken, Machine
from inference.runs.machines.sessions import AGENT_FILE, add_machine, agent_command, create_token, revoke
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.file_answers import attachment
from inference.web.request_fields import StrictForm, form_page, validate_line

DEFAULT_PORTS = {"http": "80", "https": "443"}


class AddMachineForm(StrictForm):
    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="For example “lab, Zen 4”. Pages and commands find the machine by this name.",
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "off"}),
        validators=[validate_line],
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Machine.objects.filter(name=name).exists():
            raise ValidationError(
                f"Another machine has this name; {free_name(Machine, name)!r} is free. For a new token "
                "of that machine, open its page."
            )
        return name


@dataclass(frozen=True)
class SiteAddress:
    """The address by which the browser reaches this site, for an agent, with the agent's token."""

    site: str
    host: str
    port: str
    token: str

    @property
    def line(self) -> str:
        """The shell command that downloads and starts the agent."""
        program = f"{self.site}{reverse('agent-download')}"
        return f"curl -fsSO {shlex.quote(program)} && {agent_command(self.site, self.token)}"

    @property
    def reaches_only_itself(self) -> bool:
        """Whether the address is a loopback address, which no other computer can use."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:  # a name
            return False


def site_address(request: HttpRequest, token: str) -> SiteAddress:
    """The site's address in a request; `port` is the scheme's default if the request has none."""
    scheme = request.scheme or "http"
    host_header = request.get_host()
    host, colon, port = host_header.rpartition(":")
    if not colon or host_header.endswith("]"):  # [::1] has colons, but no port
        host, port = host_header, DEFAULT_PORTS.get(scheme, "")
    return SiteAddress(f"{scheme}://{host_header}", host, port, token)


@never_cache
def machine_add(request: HttpRequest) -> HttpResponse:
    """The form for a new machine; a POST creates it and shows the command for its agent."""
    form = AddMachineForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        return agent_command_page(request, add_machine(form.cleaned_data["name"]), is_new=True)
    return form_page(request, "inference/machines/add.html", form, python=dotted_python())


def agent_command_page(
    request: HttpRequest, machine: Machine, *, is_new: bool = False, lifetime: timedelta | None = None
) -> HttpResponse:
    """Issue a token and show the command with it; only for POSTs, so that no URL contains the token.

    Views that return it must be `never_cache`.
    """
    connection = site_address(request, create_token(machine, lifetime))
    context = {
        "machine": machine,
        "is_new": is_new,
        "connection": connection,
        "python": dotted_python(),
        "row": machine_view(machine),
    }
    return render(request, "inference/machines/connect.html", context)


def machine_arrival(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the connect page that is polled: whether the machine has connected."""
    machine = get_object_or_404(machines(), pk=pk)
    return render(
        request, "inference/machines/arrival.html", {"machine": machine, "row": machine_view(machine)}
    )


LIFETIMES = ("", "30", "90", "365")
"""Days of a token's validity; "": no expiry."""


@never_cache
def machine_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Issue another token and show the command with it; earlier tokens stay valid."""
    machine = get_object_or_404(Machine, pk=pk)
    if machine.kind != Machine.Kind.AGENT:
        raise Http404(f"{machine.name} has no agent and needs no token")
    days = request.POST.get("days", "")
    if days not in LIFETIMES:
        raise BadRequest(f"days must be {', '.join(filter(None, LIFETIMES))}, or empty for no expiry.")
    return agent_command_page(request, machine, lifetime=timedelta(days=int(days)) if days else None)


def machine_token_revoke(request: HttpRequest, pk: int, token_pk: int) -> HttpResponse:
    """Take a token back: an agent that comes with it is refused from now on."""
    token = get_object_or_404(AgentToken.objects.select_related("machine"), pk=token_pk, machine_id=pk)
    if token.revoked is None:
        revoke(token)
    messages.success(request, "The token has been revoked.")
    return redirect("machine", pk=pk)


def agent(_request: HttpRequest) -> HttpResponse:
    """The agent as one file; status 503 with the reason if this installation cannot pack it."""
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
