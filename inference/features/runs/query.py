"""The list of runs, and what came of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, QuerySet, Value, When

from inference.features.machines.query import machines, unfinished_inferences_on
from inference.features.mappings.query import port_mappings
from inference.features.sets.query import experiment_sets
from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.web.paging import having_words

RUN_COLUMNS = {"created": "id", "name": "name", "state": "state", "time": "busy_seconds"}
"""Columns that runs can be sorted by, for `paging.Order`."""


def runs(text: str = "", state: str = "", kind: str = "") -> QuerySet[Run]:
    """All runs, those with a text in name or note, in a state, of a kind, where these are given."""
    rows = Run.objects.all()
    if text:
        rows = rows.filter(having_words(text))
    if state:
        rows = rows.filter(state=state)
    if kind:
        rows = rows.filter(kind=kind)
    return rows


def inferred_by(run: Run) -> QuerySet[PortMapping]:
    """The port mapping that the run has made, if it has: nothing is asked before it is done."""
    if run.state != Run.State.DONE:
        return PortMapping.objects.none()
    return PortMapping.objects.filter(run=run).order_by("id")


# What the start page shows.


NEWEST = 6  # rows of each list


@dataclass(frozen=True)
class SiteOverview:
    """The newest of everything, and which first steps have been taken.

    `machines` are those with an agent, `unfinished_here` {algorithm: unfinished inference on this very
    computer}, `inferred_here` the algorithms that have found a mapping of it, and
    `knows_local` whether all of its core was found out.
    """

    runs: Sequence[Run]
    mappings: Sequence[PortMapping]
    sets: Sequence[ExperimentSet]
    machines: Sequence[Machine]
    unfinished_here: Mapping[str, Run]
    inferred_here: frozenset[str]
    knows_local: bool
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


def overview() -> SiteOverview:
    """Everything on the start page, in ten queries at most."""
    with_agents = list(machines().filter(kind=Machine.Kind.AGENT))
    local = next((machine for machine in with_agents if machine.local), None)
    return SiteOverview(
        runs=_current_runs(),
        mappings=list(port_mappings().order_by("-id")[:NEWEST]),
        sets=list(experiment_sets().order_by("-id")[:NEWEST]),
        machines=with_agents,
        unfinished_here={} if local is None else _unfinished_on(local),
        inferred_here=frozenset() if local is None else _inferred_on(local),
        knows_local=local is not None and _knows(local),
        has_example=ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE).exists(),
        has_uploads=ExperimentSet.objects.filter(origin=ExperimentSet.Origin.UPLOAD).exists(),
        has_inferred=PortMapping.objects.filter(origin=PortMapping.Origin.RUN).exists(),
    )


def _knows(local: Machine) -> bool:
    return Run.objects.filter(kind="know", state=Run.State.DONE, config__machine=local.pk).exists()


def _unfinished_on(local: Machine) -> dict[str, Run]:
    oldest_first = reversed(unfinished_inferences_on(local))
    return {run.config.get("algorithm", ""): run for run in oldest_first}


def _inferred_on(local: Machine) -> frozenset[str]:
    """The algorithms whose mappings of it there are; "" for mappings that came without a run."""
    found = PortMapping.objects.filter(machine=local).order_by()
    return frozenset(name or "" for name in found.values_list("run__config__algorithm", flat=True).distinct())


def _current_runs() -> list[Run]:
    """The newest runs, unfinished ones before all others."""
    finished = Case(When(state__in=Run.FINAL, then=Value(1)), default=Value(0))
    return list(Run.objects.defer("config", "result").order_by(finished, "-id")[:NEWEST])
