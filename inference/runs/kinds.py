"""Kinds of runs: what each must be able to do, which there are, and the lanes in which runs wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from django.db.models import Q, QuerySet

from inference.core.events import Event
from inference.core.protocols import Checkpoint, Json
from inference.models import Machine, Run
from inference.runs.errors import ConfigError
from inference.runs.journal import Lease
from inference.runs.reporter import JournalReporter


@dataclass(frozen=True)
class Task:
    """One claimed run with everything its job may touch."""

    run: Run
    lease: Lease
    reporter: JournalReporter
    checkpoint: Checkpoint | None


Store = Callable[[], tuple[Json, Sequence[Event]]]
"""Writes a job's rows; returns the run's result and the events that tell of it.

It is called in the transaction that marks the run done, so it happens exactly once or not at all.
"""


class Job(Protocol):
    """What does the runs of one kind."""

    def check(self, config: Json) -> Json:
        """The description of a run with its defaults filled in. Raises `ConfigError` naming what is wrong."""
        ...

    def submitted(self, run: Run) -> None:
        """Link rows to the run just created, in the same transaction; usually there are none."""
        return

    def work(self, task: Task) -> Store:
        """Do the work. Raises what the algorithms raise, `JobError`, or `InterruptedRunError`."""
        ...


class Lane(StrEnum):
    """Runs of one lane wait for each other."""

    LONG = "long"
    MEASURING = "measuring"
    SHORT = "short"
    ASKING = "asking"
    """Somebody waits for the answers, and they may wait for machines."""


@dataclass(frozen=True)
class RunKind:
    """A kind of run. Its functions import what they need when they are called: most processes need nothing.

    Args:
        name: In the database, addresses and the API.
        label: What such a run is called.
        job: Makes what does its runs.
        summary: The label in a few words.
        example: A description, for the reference of the API.
        lane: Which runs it waits for.
        keeps: What becomes the result of a run that is stopped early, in words; "" where nothing would.
        load: Imports whatever its runs need besides the job.
    """

    name: str
    label: str
    job: Callable[[], Job]
    summary: str
    example: Json
    lane: Lane = Lane.LONG
    keeps: Callable[[Run], str] = lambda _run: ""
    load: Callable[[], None] = lambda: None


RUN_KINDS: dict[str, RunKind] = {}
"""By name."""


def register(kinds: Iterable[RunKind]) -> None:
    """Add the kinds of a feature; apps do so when they are ready."""
    RUN_KINDS.update((kind.name, kind) for kind in kinds)


def keeps(run: Run) -> str:
    """What becomes the result of a run that is stopped before its end; "" where it can only be cancelled."""
    return RUN_KINDS[run.kind].keeps(run) if run.kind in RUN_KINDS else ""


def label_of(kind: str) -> str:
    """What runs of a kind are called; the name of one that is not registered."""
    return RUN_KINDS[kind].label if kind in RUN_KINDS else kind


def job(kind: str) -> Job:
    """The job that does runs of this kind. Raises `ConfigError` naming the kinds there are."""
    if kind not in RUN_KINDS:
        raise ConfigError(f"there is no run of kind {kind!r}; there are {', '.join(sorted(RUN_KINDS))}")
    return RUN_KINDS[kind].job()


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
