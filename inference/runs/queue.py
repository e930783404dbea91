"""Who waits for whom: runs have lanes by what they need, each in the order of submission.

Nobody wants to wait hours for an import because an inference came first, nor for one computer to be measured
because another one is.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from inference.core.protocols import Json
from inference.models import Machine, Run
from inference.runs.registry import JOBS, Deferred

SHORT_SLOTS = 1
"""How many short runs a worker does at a time, whatever its number of inferences."""

MEASURING_SLOTS = 4
"""How many runs that only measure a worker does at a time: they wait for agents, and compute little."""

ASKING_SLOTS = 3
"""How many runs that somebody waits for a worker does at a time."""


@dataclass(frozen=True)
class Lane:
    """Kinds of runs that wait for each other, and how many of them a worker does at a time."""

    kinds: frozenset[str]
    slots: int


def lanes(jobs: int = 1) -> tuple[Lane, ...]:
    """The lanes of a worker that does so many inferences at a time: these, measuring runs, short ones, and
    questions, which an agent that is away must not let short ones wait for."""
    asking = frozenset(kind for kind, job in JOBS.items() if isinstance(job, Deferred) and job.asks)
    short = frozenset(kind for kind, job in JOBS.items() if job.short) - asking
    measuring = frozenset({"measure", "check-model", "block"})
    return (
        Lane(frozenset(JOBS) - short - asking - measuring, jobs),
        Lane(measuring, MEASURING_SLOTS),
        Lane(short, SHORT_SLOTS),
        Lane(asking, ASKING_SLOTS),
    )


def held_up() -> list[int]:
    """Waiting runs that are not to begin yet: another run measures on the computer that they need.

    Two at a time would take turns there, and each would take twice as long.
    """
    busy = {computer_of(run.config) for run in _with_state(Run.State.RUNNING)} - {None}
    if not busy:
        return []
    computers = set(Machine.objects.filter(pk__in=busy, kind=Machine.Kind.AGENT).values_list("pk", flat=True))
    return [run.pk for run in _with_state(Run.State.QUEUED) if computer_of(run.config) in computers]


def ahead_of(run: Run) -> QuerySet[Run]:
    """The runs of the same lane or for the same computer that are worked on or were submitted earlier, oldest
    first; none of a run that does not wait. Of each what names it."""
    if run.state != Run.State.QUEUED:
        return Run.objects.none()
    before = Q(state=Run.State.RUNNING) | Q(state=Run.State.QUEUED, pk__lt=run.pk)
    earlier = Run.objects.filter(before).only("name", "state").order_by("id")
    computer = computer_of(run.config)
    if computer is not None:
        rivals = earlier.filter(Q(config__machine=computer) | Q(config__source__machine=computer))
        if rivals.exists():
            return rivals
    lane = next(lane for lane in lanes() if run.kind in lane.kinds)
    return earlier.filter(kind__in=lane.kinds)


def _with_state(state: str) -> list[Run]:
    return list(Run.objects.filter(state=state).only("pk", "config").order_by("id"))


def computer_of(config: Json) -> int | None:
    """The id of the machine that a run measures on, None for one that does not."""
    source = config.get("source")
    return config.get("machine", source.get("machine") if isinstance(source, dict) else None)
