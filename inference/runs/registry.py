"""The kinds of runs. A new kind is one file in `jobs` and one line here."""

from __future__ import annotations

from inference.runs.errors import ConfigError
from inference.runs.job import Job
from inference.runs.jobs.block import BlockJob
from inference.runs.jobs.check_model import CheckModelJob
from inference.runs.jobs.evaluate import EvaluateJob
from inference.runs.jobs.import_file import ImportJob
from inference.runs.jobs.infer import InferJob
from inference.runs.jobs.measure import MeasureJob

JOBS: dict[str, Job] = {
    "infer": InferJob(),
    "measure": MeasureJob(),
    "check-model": CheckModelJob(),
    "block": BlockJob(),
    "import": ImportJob(),
    "evaluate": EvaluateJob(),
}


def job(kind: str) -> Job:
    """The job that does runs of this kind. Raises `ConfigError` naming those there are."""
    if kind not in JOBS:
        raise ConfigError(f"there is no run of kind {kind!r}; there are {', '.join(JOBS)}")
    return JOBS[kind]
