"""What a kind of run must be able to do, and which there are: each feature registers its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from inference.core.events import Event
from inference.core.protocols import Checkpoint, Json
from inference.models import Run
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
