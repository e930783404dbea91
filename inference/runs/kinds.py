"""What a kind of run must be able to do, and which kinds there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.utils.module_loading import import_string

from inference.core.protocols import Checkpoint, Json
from inference.models import Run
from inference.runs.errors import ConfigError
from inference.runs.journal import Entry, Lease
from inference.runs.reporter import JournalReporter

# What a kind of run must be able to do.


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


# The kinds of runs. A new kind is one file in `jobs` and one line here; another app registers its own.


@dataclass(frozen=True)
class Deferred:
    """A job that is imported when it is needed: a process does one kind of run, most do none.

    `path` is that of a class without arguments. `asks`: somebody waits for the answers, and it may itself
    wait for machines: such runs have a lane of their own. See `Job` for the rest.
    """

    path: str
    short: bool = False
    asks: bool = False

    def check(self, config: Json) -> Json:
        """As the job has it."""
        return self._job().check(config)

    def submitted(self, run: Run) -> None:
        """As the job has it."""
        self._job().submitted(run)

    def work(self, task: Task) -> Store:
        """As the job has it."""
        return self._job().work(task)

    def _job(self) -> Job:
        return import_string(self.path)()


JOBS: dict[str, Job] = {
    "infer": Deferred("inference.features.inferring.job.InferJob"),
    "measure": Deferred("inference.features.measure.job.MeasureJob"),
    "check-model": Deferred("inference.features.model_check.job.CheckModelJob"),
    "block": Deferred("inference.features.blocks.job.BlockJob"),
    "import": Deferred("inference.features.uploads.job.ImportJob", short=True),
    "compare-sets": Deferred("inference.features.sets.job.CompareSetsJob", short=True),
    "merge-sets": Deferred("inference.features.sets.job.MergeSetsJob", short=True),
    "evaluate": Deferred("inference.features.evaluations.job.EvaluateJob", short=True),
}


def register(kind: str, new: Job) -> None:
    """Add a kind of another app; it does so when it is ready."""
    JOBS[kind] = new


def job(kind: str) -> Job:
    """The job that does runs of this kind. Raises `ConfigError` naming those there are."""
    if kind not in JOBS:
        raise ConfigError(f"there is no run of kind {kind!r}; there are {', '.join(JOBS)}")
    return JOBS[kind]
