"""Kinds of runs: the protocol of their jobs, the registry of kinds, and the queues in which runs wait."""

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
    """A claimed run, with the objects that its job works with.

    Attributes:
        run: The run's row; its description is complete.
        lease: The claim; every write of the attempt is conditional on it.
        reporter: Takes events and checkpoints; `reporter.pulse()` raises when a stop was requested.
        checkpoint: The last one of earlier attempts; None in a first attempt.
    """

    run: Run
    lease: Lease
    reporter: JournalReporter
    checkpoint: Checkpoint | None


Store = Callable[[], tuple[Json, Sequence[Event]]]
"""Writes a job's rows; returns the run's result and its last events.

It is called in the transaction that marks the run done: the rows are written exactly once or not at all.
"""


class Job(Protocol):
    """Executes the runs of one kind: checks their descriptions, does the work, and writes the results.

    A job has no state between runs. It is loaded in the process of a run, and where a run is submitted.
    """

    def check(self, config: Json) -> Json:
        """The description of a run completed with defaults. Raises `ConfigError` naming the wrong field."""
        ...

    def default_name(self, config: Json) -> str:
        """What a run with this complete description is of, if it is given no name; "": the kind's label."""
        return ""

    def submitted(self, run: Run) -> None:
        """Link rows to a run in the transaction that creates it; does nothing for most kinds."""
        return

    def work(self, task: Task) -> Store:
        """Execute the run.

        Raises:
            InterruptedRunError: A transition was requested.
            JobError: The run cannot be done.
            CoreError: The algorithm failed.
        """
        ...


@dataclass(frozen=True)
class PlannedPart:
    """A part of a run, which is a run of its own.

    Attributes:
        label: Name of the step of the parent run.
        kind: Kind of the part.
        config: Description of the part.
        ends_by: Seconds of work on all parts after which it must have ended.
        run: The part's run; None before its turn.
        is_reused: Whether an earlier run takes its place.
    """

    label: str
    kind: str
    config: Json
    ends_by: float
    run: Run | None = None
    is_reused: bool = False


class Lane(StrEnum):
    """Runs of one lane wait for each other; runs of different lanes are executed side by side."""

    LONG = "long"
    MEASURING = "measuring"
    SHORT = "short"
    INTERACTIVE = "asking"
    """Runs whose user waits for the answer on a page: measured between the batches of long runs."""


def _undeclared_job() -> Job:
    raise NotImplementedError("no module of the feature has the kind in `JOBS`")


@dataclass(frozen=True)
class RunKind:
    """A kind of run. Its functions import modules when called: most processes never call them.

    Args:
        name: Identifier in the database, in addresses and in the API.
        label: Name of such a run on pages.
        summary: A short form of the label.
        example: A description of a run, for the reference of the API.
        job: Makes the job that executes its runs; features declare the class in `JOBS` of `job.py`.
        lane: The queue in which its runs wait.
        partial_result: Names the result of a run that is stopped early; "" if it would have none.
        load: Imports the modules that its runs need besides the job.
        parts: The parts of a run with this description, in order; of a run that has not been submitted, None.
    """

    name: str
    label: str
    summary: str
    example: Json
    job: Callable[[], Job] = _undeclared_job
    lane: Lane = Lane.LONG
    partial_result: Callable[[Run], str] = lambda _run: ""
    load: Callable[[], None] = lambda: None
    parts: Callable[[Json, Run | None], Sequence[PlannedPart]] = lambda _config, _run: ()


RUN_KINDS: dict[str, RunKind] = {}
"""{name: kind}, filled when apps are ready."""


def register(kinds: Iterable[RunKind]) -> None:
    """Add the kinds of a feature; call it from `AppConfig.ready`."""
    RUN_KINDS.update((kind.name, kind) for kind in kinds)


def partial_result(run: Run) -> str:
    """Names the result of a run that is stopped before its end; "" where it can only be cancelled."""
    return RUN_KINDS[run.kind].partial_result(run) if run.kind in RUN_KINDS else ""


def label_of(kind: str) -> str:
    """Label of a kind of run; the name itself if the kind is not registered."""
    return RUN_KINDS[kind].label if kind in RUN_KINDS else kind


def interactive_kinds() -> list[str]:
    """Names of the kinds of runs in `Lane.INTERACTIVE`."""
    return [kind.name for kind in RUN_KINDS.values() if kind.lane is Lane.INTERACTIVE]


def job(kind: str) -> Job:
    """The job that executes runs of this kind. Raises `ConfigError` naming the registered kinds."""
    if kind not in RUN_KINDS:
        raise ConfigError(f"there is no run of kind {kind!r}; there are {', '.join(sorted(RUN_KINDS))}")
    return RUN_KINDS[kind].job()


SHORT_SLOTS = 1
"""Short runs that a worker executes at a time, independent of its number of inferences."""

MEASURING_SLOTS = 4
"""Runs that only measure, executed at a time by a worker: they wait for agents and compute little."""

INTERACTIVE_SLOTS = 3
"""Runs of `Lane.INTERACTIVE` that a worker executes at a time."""


@dataclass(frozen=True)
class Queue:
    """Kinds of runs that wait for each other; a worker executes `slots` of them at a time."""

    kinds: frozenset[str]
    slots: int


def queues(jobs: int = 1) -> tuple[Queue, ...]:
    """One queue per lane, for a worker that executes `jobs` inferences at a time."""
    slots = {
        Lane.LONG: jobs,
        Lane.MEASURING: MEASURING_SLOTS,
        Lane.SHORT: SHORT_SLOTS,
        Lane.INTERACTIVE: INTERACTIVE_SLOTS,
    }
    return tuple(
        Queue(frozenset(kind.name for kind in RUN_KINDS.values() if kind.lane is lane), number)
        for lane, number in slots.items()
    )


def blocked_run_ids() -> list[int]:
    """Ids of waiting runs that must not start yet: another run measures on their machine.

    Two long runs would alternate on a machine, and both would take twice as long. Interactive runs neither
    wait nor are waited for: they take seconds, and `machines.batches.lease` gives them turns.
    """
    busy_ids = {
        pk for run in _runs_that_wait(Run.State.RUNNING) if (pk := machine_id_of(run.config)) is not None
    }
    if not busy_ids:
        return []
    busy_agents = set(
        Machine.objects.filter(pk__in=busy_ids, kind=Machine.Kind.AGENT).values_list("pk", flat=True)
    )
    return [run.pk for run in _runs_that_wait(Run.State.QUEUED) if machine_id_of(run.config) in busy_agents]


def ahead_of(run: Run) -> QuerySet[Run]:
    """Runs that a waiting run waits for, oldest first; empty if it does not wait.

    These are running or earlier runs for the same machine, else those of the same lane; without the run
    itself, its parts and its parent. On a machine, interactive runs neither wait nor are waited for. Only
    `name` and `state` are loaded.
    """
    if run.state != Run.State.QUEUED:
        return Run.objects.none()
    parent_id = run.part_of_id or run.pk
    before = Q(state=Run.State.RUNNING) | Q(state=Run.State.QUEUED, pk__lt=run.pk)
    unrelated = Run.objects.exclude(pk=parent_id).exclude(part_of=parent_id, part_of__isnull=False)
    earlier = unrelated.filter(before).only("name", "state").order_by("id")
    machine_id = machine_id_of(run.config)
    interactive = interactive_kinds()
    if machine_id is not None and run.kind not in interactive:
        long_runs = earlier.exclude(kind__in=interactive)
        on_machine = long_runs.filter(Q(config__machine=machine_id) | Q(config__source__machine=machine_id))
        if on_machine.exists():
            return on_machine
    queue = next(queue for queue in queues() if run.kind in queue.kinds)
    return earlier.filter(kind__in=queue.kinds)


def _runs_that_wait(state: str) -> list[Run]:
    rows = Run.objects.filter(state=state).exclude(kind__in=interactive_kinds())
    return list(rows.only("pk", "config").order_by("id"))


def machine_id_of(config: Json) -> int | None:
    """Id of the machine on which a run measures; None if it does not measure."""
    source = config.get("source")
    return config.get("machine", source.get("machine") if isinstance(source, dict) else None)
