"""The kinds of runs. A new kind is one file in `jobs` and one line here; another app registers its own."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.module_loading import import_string

from inference.core.protocols import Json
from inference.models import Run
from inference.runs.errors import ConfigError
from inference.runs.job import Job, Store, Task


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
