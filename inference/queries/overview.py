"""What the start page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Case, Value, When

from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.queries.experiment_sets import experiment_sets
from inference.queries.machines import machines, unfinished_inference_on
from inference.queries.mappings import port_mappings

NEWEST = 6  # rows of each list


@dataclass(frozen=True)
class Overview:
    """The newest of everything, and which first steps have been taken.

    `machines` are those with an agent, `measuring_here` an unfinished inference on this very computer.
    """

    runs: Sequence[Run]
    mappings: Sequence[PortMapping]
    sets: Sequence[ExperimentSet]
    machines: Sequence[Machine]
    measuring_here: Run | None
    has_measured_here: bool
    has_example: bool
    has_uploads: bool
    has_inferred: bool

    @property
    def fresh(self) -> bool:
        """Whether nothing has been done here yet."""
        return not (self.runs or self.mappings or self.sets)

    @property
    def local(self) -> Machine | None:
        """The computer that the site runs on."""
        return next((machine for machine in self.machines if machine.local), None)


def overview() -> Overview:
    """Everything on the start page, in nine queries at most."""
    with_agents = list(machines().filter(kind=Machine.Kind.AGENT))
    local = next((machine for machine in with_agents if machine.local), None)
    return Overview(
        runs=_current_runs(),
        mappings=list(port_mappings().order_by("-id")[:NEWEST]),
        sets=list(experiment_sets().order_by("-id")[:NEWEST]),
        machines=with_agents,
        measuring_here=None if local is None else unfinished_inference_on(local),
        has_measured_here=local is not None and PortMapping.objects.filter(machine=local).exists(),
        has_example=ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE).exists(),
        has_uploads=ExperimentSet.objects.filter(origin=ExperimentSet.Origin.UPLOAD).exists(),
        has_inferred=PortMapping.objects.filter(origin=PortMapping.Origin.RUN).exists(),
    )


def _current_runs() -> list[Run]:
    """The newest runs, unfinished ones before all others."""
    finished = Case(When(state__in=Run.FINAL, then=Value(1)), default=Value(0))
    return list(Run.objects.defer("config", "result").order_by(finished, "-id")[:NEWEST])
