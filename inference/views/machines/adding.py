"""Adding a machine: a name, then the line to paste there, with a token that is shown this once."""

from __future__ import annotations

import ipaddress
import shlex
from dataclasses import dataclass
from datetime import timedelta

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache

from inference.agent.packing import OLDEST_PYTHON
from inference.exchange.names import NAME_LIMIT, free_name
from inference.models import Machine
from inference.queries.machines import machines
from inference.runs.machines.starting import agent_line
from inference.runs.machines.tokens import add_machine, issue
from inference.views.machines.list import shown

DEFAULT_PORTS = {"http": "80", "https": "443"}


class AddMachineForm(forms.Form):
    """The name of a machine that is new here."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="What you call that computer: “lab, Zen 4”. Pages and commands find it by this name.",
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "off"}),
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
class Connection:
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


def connection_for(request: HttpRequest, token: str) -> Connection:
    """With the address that the browser used: it is one by which the site is reached."""
    scheme = request.scheme or "http"
    answered = request.get_host()
    host, colon, port = answered.rpartition(":")
    if not colon or answered.endswith("]"):  # [::1] has colons, but no port
        host, port = answered, DEFAULT_PORTS.get(scheme, "")
    return Connection(f"{scheme}://{answered}", host, port, token)


@never_cache
def machine_add(request: HttpRequest) -> HttpResponse:
    """Ask for a name; then make the machine and show the line to paste there."""
    form = AddMachineForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        return line_to_paste(request, add_machine(form.cleaned_data["name"]), is_new=True)
    context = {"form": form, "python": dotted_python()}
    return render(request, "inference/machine/add.html", context, status=400 if form.is_bound else 200)


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
    return render(request, "inference/machine/connect.html", context)


def dotted_python() -> str:
    """The oldest Python that the agent runs with."""
    return ".".join(map(str, OLDEST_PYTHON))


def machine_arrival(request: HttpRequest, pk: int) -> HttpResponse:
    """Whether a machine has connected yet: the part of the page above that is asked for again and again."""
    machine = get_object_or_404(machines(), pk=pk)
    return render(request, "inference/machine/arrival.html", {"machine": machine, "row": shown(machine)})


urlpatterns = [
    path("machines/add/", machine_add, name="machine-add"),
    path("machines/<int:pk>/arrival/", machine_arrival, name="machine-arrival"),
]
