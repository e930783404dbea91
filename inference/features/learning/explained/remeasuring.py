"""Measuring what a result rests on once more: with which machine, and which experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from inference.core.experiment import Experiment
from inference.features.machines.machines.query import machines
from inference.features.machines.measure.listed import listed_config
from inference.models import Machine, PortMapping, Run
from inference.runs.machines.facts import obstacle_to_measuring
from inference.web.api.errors import ProblemError
from inference.web.requests import row_number
from inference.web.run_forms import start_run


@dataclass(frozen=True)
class Means:
    """`able`: machines that answer now, the one that the mapping is of at the top. `lacking`: why others
    cannot be asked, with what would help.
    """

    able: Sequence[Machine]
    lacking: Sequence[str]


def means_of(row: PortMapping) -> Means:
    """The machines of the mapping's instruction set."""
    able, lacking = [], []
    for machine in machines().filter(isa=row.isa).exclude(kind=Machine.Kind.PUBLISHED):
        if obstacle := obstacle_to_measuring(machine):
            lacking.append(obstacle)
        elif machine.kind == Machine.Kind.SIMULATED or machine.is_online():
            able.append(machine)
        else:
            lacking.append(f"the agent of {machine.name!r} is not connected: start it there")
    return Means(sorted(able, key=lambda machine: machine.pk != row.machine_id), lacking)


def measure_listed(
    request: HttpRequest, machine: Machine, experiments: Sequence[Experiment], repeats: int, what: str
) -> Run | None:
    """Submit a run that measures each experiment so often; None after telling the user what is wrong."""
    config = listed_config(machine.pk, experiments, repeats)
    return start_run(request, "measure", config, f"{what} on {machine.name}"[:180])


def posted_number(request: HttpRequest, name: str) -> int:
    """The whole number under `name`; -1, which no row has, for anything else."""
    number = row_number(request.POST.get(name, ""))
    return -1 if number is None else number


def machine_of(row: PortMapping, machine_id: int) -> Machine:
    """A machine of the mapping's instruction set. Raises `ProblemError` (422)."""
    machine = Machine.objects.filter(pk=machine_id, isa=row.isa_id).first()
    if machine is None:
        raise ProblemError(
            422,
            f"There is no machine {machine_id} for {row.isa.name}",
            where="body machine",
            right="one of the mapping's instruction set",
        )
    return machine
