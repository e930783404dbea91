"""What the start page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Max, QuerySet, Value, When

from inference.features.library.mappings.query import port_mappings
from inference.features.library.sets.query import experiment_sets
from inference.features.machines.machines.query import machines, unfinished_inferences_on
from inference.models import ExperimentSet, Machine, PortMapping, Run, StoredCoreModel

NEWEST = 6  # rows of each list


@dataclass(frozen=True)
class SiteOverview:
    """The newest of everything, and which first steps have been taken.

    `machines` are those with an agent, `unfinished_here` {algorithm: unfinished inference on this very
    computer}, `inferred_here` {algorithm: the newest mapping of it that it has found}, and `knows_local` the
    newest run that has found out all of its core. `example`, `uploaded`: the newest sets of these origins,
    `inferred`: the newest mapping of a run, `done` {kind: its newest run that is done}. All by id.
    `core`: the newest core model.
    """

    runs: Sequence[Run]
    mappings: Sequence[PortMapping]
    sets: Sequence[ExperimentSet]
    machines: Sequence[Machine]
    unfinished_here: Mapping[str, Run]
    inferred_here: Mapping[str, int]
    knows_local: int | None
    example: int | None
    uploaded: int | None
    inferred: int | None
    done: Mapping[str, int]
    core: StoredCoreModel | None

    @property
    def fresh(self) -> bool:
        """Whether nothing has been done here yet."""
        return not (self.runs or self.mappings or self.sets)

    @property
    def compared(self) -> int | None:
        found = (self.done.get(kind) for kind in COMPARISONS)
        return max((pk for pk in found if pk is not None), default=None)

    @property
    def local(self) -> Machine | None:
        """The computer that the site runs on."""
        return next((machine for machine in self.machines if machine.local), None)


def overview() -> SiteOverview:
    """Everything on the start page, in twelve queries at most."""
    with_agents = list(machines().filter(kind=Machine.Kind.AGENT))
    local = next((machine for machine in with_agents if machine.local), None)
    return SiteOverview(
        runs=_current_runs(),
        mappings=list(port_mappings().order_by("-id")[:NEWEST]),
        sets=list(experiment_sets().order_by("-id")[:NEWEST]),
        machines=with_agents,
        unfinished_here={} if local is None else _unfinished_on(local),
        inferred_here={} if local is None else _inferred_on(local),
        knows_local=None if local is None else _knows(local),
        example=_newest(ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE)),
        uploaded=_newest(ExperimentSet.objects.filter(origin=ExperimentSet.Origin.UPLOAD)),
        inferred=_newest(PortMapping.objects.filter(origin=PortMapping.Origin.RUN)),
        done=_newest_done(ASKED_BY_HAND),
        core=StoredCoreModel.objects.only("name").order_by("-pk").first(),
    )


COMPARISONS = ("judge", "comparison")
ASKED_BY_HAND = ("ask", *COMPARISONS)
"""Kinds of runs that are among the first steps."""


def _newest(rows: QuerySet[Any]) -> int | None:
    pk: int | None = rows.order_by("-pk").values_list("pk", flat=True).first()
    return pk


def _newest_done(kinds: Sequence[str]) -> dict[str, int]:
    done = Run.objects.filter(kind__in=kinds, state=Run.State.DONE).order_by()
    return dict(done.values_list("kind").annotate(newest=Max("pk")))


def _knows(local: Machine) -> int | None:
    return _newest(Run.objects.filter(kind="know", state=Run.State.DONE, config__machine=local.pk))


def _unfinished_on(local: Machine) -> dict[str, Run]:
    oldest_first = reversed(unfinished_inferences_on(local))
    return {run.config.get("algorithm", ""): run for run in oldest_first}


def _inferred_on(local: Machine) -> dict[str, int]:
    """The newest mapping of it by algorithm; "" for mappings that came without a run."""
    found = PortMapping.objects.filter(machine=local).order_by()
    return {
        name or "": pk for name, pk in found.values_list("run__config__algorithm").annotate(newest=Max("pk"))
    }


def _current_runs() -> list[Run]:
    """The newest runs, unfinished ones before all others."""
    finished = Case(When(state__in=Run.FINAL, then=Value(1)), default=Value(0))
    return list(Run.objects.defer("config", "result").order_by(finished, "-id")[:NEWEST])
