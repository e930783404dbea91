"""Who waits for whom: runs have lanes by what they need, each in the order of submission.

Nobody wants to wait hours for an import because an inference came first, nor for one computer to be measured
because another one is.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from inference.core.protocols import Json
from inference.models import Machine, Run
from inference.runs.kinds import RUN_KINDS, Lane

SHORT_SLOTS = 1
"""How many short runs a worker does at a time, whatever its number of inferences."""

MEASURING_SLOTS = 4
"""How many runs that only measure a worker does at a time: they wait for agents, and compute little."""

ASKING_SLOTS = 3
"""How many runs that somebody waits for a worker does at a time."""


@dataclass(frozen=True)
class Queue:
    """Kinds of runs that wait for each other, and how many of them a worker does at a time."""

    kinds: frozenset[str]
    slots: int


def queues(jobs: int = 1) -> tuple[Queue, ...]:
    """The queues of a worker that does so many inferences at a time, one for each lane."""
    slots = {
        Lane.LONG: jobs,
        Lane.MEASURING: MEASURING_SLOTS,
        Lane.SHORT: SHORT_SLOTS,
        Lane.ASKING: ASKING_SLOTS,
    }
    return tuple(
        Queue(frozenset(kind.name for kind in RUN_KINDS.values() if kind.lane is lane), number)
        for lane, number in slots.items()
    )


def held_up() -> list[int]:
    """Waiting runs that are not to begin yet: another run measures on the computer that they need.

    Two at a time would take turns there, and each would take twice as long.
    """
    busy = {pk for run in _with_state(Run.State.RUNNING) if (pk := computer_of(run.config)) is not None}
    if not busy:
        return []
    computers = set(Machine.objects.filter(pk__in=busy, kind=Machine.Kind.AGENT).values_list("pk", flat=True))
    return [run.pk for run in _with_state(Run.State.QUEUED) if computer_of(run.config) in computers]


def ahead_of(run: Run) -> QuerySet[Run]:
    """The runs of the same lane or for the same computer that are worked on or were submitted earlier, oldest
    first; none of a run that does not wait, and never itself, its parts or the whole that it is part of. Of
    each what names it."""
    if run.state != Run.State.QUEUED:
        return Run.objects.none()
    whole = run.part_of_id or run.pk
    before = Q(state=Run.State.RUNNING) | Q(state=Run.State.QUEUED, pk__lt=run.pk)
    others = Run.objects.exclude(pk=whole).exclude(part_of=whole, part_of__isnull=False)
    earlier = others.filter(before).only("name", "state").order_by("id")
    computer = computer_of(run.config)
    if computer is not None:
        rivals = earlier.filter(Q(config__machine=computer) | Q(config__source__machine=computer))
        if rivals.exists():
            return rivals
    queue = next(queue for queue in queues() if run.kind in queue.kinds)
    return earlier.filter(kind__in=queue.kinds)


def _with_state(state: str) -> list[Run]:
    return list(Run.objects.filter(state=state).only("pk", "config").order_by("id"))


def computer_of(config: Json) -> int | None:
    """The id of the machine that a run measures on, None for one that does not."""
    source = config.get("source")
    return config.get("machine", source.get("machine") if isinstance(source, dict) else None)
