"""The list of machines, which follows what they do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from inference.isa.x86.microarchitectures import Microarchitecture
from inference.models import Machine
from inference.queries.machines import Condition, condition_of, counts_of, machines, microarchitecture_of


@dataclass(frozen=True)
class Shown:
    """A machine with everything about it that is not a column of its own."""

    machine: Machine
    condition: Condition
    microarchitecture: Microarchitecture | None
    counts: str

    @property
    def has_agent(self) -> bool:
        """Whether an agent answers for it."""
        return self.machine.kind == Machine.Kind.AGENT

    @property
    def heard(self) -> datetime | None:
        """When it was last heard of."""
        return self.machine.last_seen or getattr(self.machine, "last_reading", None)

    @property
    def noise_percent(self) -> float | None:
        """How far known blocks are from their known times."""
        return None if self.machine.noise is None else 100 * self.machine.noise


def shown(machine: Machine) -> Shown:
    """A row of `inference.queries.machines.machines` as the pages show it."""
    return Shown(machine, condition_of(machine), microarchitecture_of(machine), counts_of(machine))


def machine_list(request: HttpRequest) -> HttpResponse:
    """All machines, those with agents first."""
    rows = [shown(machine) for machine in machines()]
    return render(request, "inference/machines.html", {"rows": rows})


urlpatterns = [path("machines/", machine_list, name="machines")]
