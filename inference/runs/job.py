"""What a kind of run must be able to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.core.protocols import Checkpoint, Json
from inference.models import Run
from inference.runs.journal import Entry
from inference.runs.lease import Lease
from inference.runs.reporter import JournalReporter


@dataclass(frozen=True)
class Task:
    """One claimed run with everything its job may touch."""

    run: Run
    lease: Lease
    reporter: JournalReporter
    checkpoint: Checkpoint | None


Store = Callable[[], tuple[Json, Sequence[Entry]]]
"""Writes a job's rows; returns the run's result and the events that tell of it.

It is called in the transaction that marks the run done, so it happens exactly once or not at all.
"""


class Job(Protocol):
    """A kind of run; a `short` one takes seconds and does not queue behind those that take hours."""

    short: bool

    def check(self, config: Json) -> Json:
        """The description of a run with its defaults filled in. Raises `ConfigError` naming what is wrong."""
        ...

    def submitted(self, run: Run) -> None:
        """Link rows to the run just created, in the same transaction."""
        ...

    def work(self, task: Task) -> Store:
        """Do the work. Raises what the algorithms raise, `JobError`, or `InterruptedRunError`."""
        ...
