"""What a kind of run must be able to do, and which kinds there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from django.utils.module_loading import import_string

from inference.core.event import Event
from inference.core.protocols import Checkpoint, Json
from inference.models import Run
from inference.runs.errors import ConfigError
from inference.runs.journal import Lease
from inference.runs.reporter import JournalReporter

# What a kind of run must be able to do.


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
        """Link rows to the run just created, in the same transaction."""
        ...

    def work(self, task: Task) -> Store:
        """Do the work. Raises what the algorithms raise, `JobError`, or `InterruptedRunError`."""
        ...


# The kinds of runs: the engine knows none of them, each feature says what it brings.


class Lane(StrEnum):
    """Runs of one lane wait for each other."""

    LONG = "long"
    MEASURING = "measuring"
    SHORT = "short"
    ASKING = "asking"
    """Somebody waits for the answers, and they may wait for machines."""


@dataclass(frozen=True)
class RunKind:
    """A kind of run. What a dotted path names is imported when it is needed: most processes need none.

    `label`: what such a run is called; `summary`: the same in a few words. `job`: a class without arguments,
    see `Job`. `example`: a description, for the reference of the API. `words`: (run) → its description item
    by item; without, the fields as they stand. `outcomes`: (runs) → {run id: what came of it}; without, what
    the result names. `page`: (request, run, record) → more for the template of its page; `live`:
    (run, record) → more for its script. `archived`: (config) → the description of a run from elsewhere, made
    complete, or an `ExchangeError`; without, archives of such runs are not read. `keeps`: (run) → what
    becomes its result when it is stopped early, "" where nothing would; without, runs are only cancelled.
    `loads`: () → whatever runs import besides, once they need it.
    """

    name: str
    label: str
    job: str
    summary: str
    example: Json
    lane: Lane = Lane.LONG
    words: str = ""
    outcomes: str = ""
    page: str = ""
    live: str = ""
    archived: str = ""
    keeps: str = ""
    loads: str = ""

    def check(self, config: Json) -> Json:
        """As the job has it."""
        return self._job().check(config)

    def submitted(self, run: Run) -> None:
        """As the job has it."""
        self._job().submitted(run)

    def work(self, task: Task) -> Store:
        """As the job has it."""
        return self._job().work(task)

    def load(self) -> None:
        """Import what its runs need."""
        import_string(self.job)
        if self.loads:
            import_string(self.loads)()

    def _job(self) -> Job:
        job: Job = import_string(self.job)()
        return job


JOBS: dict[str, Job] = {}
"""By the name of the kind."""


def register(kinds: Iterable[RunKind]) -> None:
    """Add the kinds of a feature; apps do so when they are ready."""
    JOBS.update((each.name, each) for each in kinds)


def kinds() -> dict[str, RunKind]:
    """All that are registered, by name."""
    return {name: each for name, each in JOBS.items() if isinstance(each, RunKind)}


def keeps(run: Run) -> str:
    """What becomes the result of a run that is stopped before its end; "" where it can only be cancelled."""
    known = kinds().get(run.kind)
    if known is None or not known.keeps:
        return ""
    words: Callable[[Run], str] = import_string(known.keeps)
    return words(run)


def label_of(kind: str) -> str:
    """What runs of a kind are called; the name of one that is not registered."""
    known = kinds().get(kind)
    return kind if known is None else known.label


def job(kind: str) -> Job:
    """The job that does runs of this kind. Raises `ConfigError` naming those there are."""
    if kind not in JOBS:
        raise ConfigError(f"there is no run of kind {kind!r}; there are {', '.join(sorted(JOBS))}")
    return JOBS[kind]
