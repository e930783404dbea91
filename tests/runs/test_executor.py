from __future__ import annotations

from inference.cluster.executor import DaskExecutor
from inference.core.pacing import LocalExecutor
from inference.runs.executors import open_executor


def test_without_a_scheduler_runs_compute_here(settings) -> None:
    settings.DASK = ""
    with open_executor(2) as executor:
        assert isinstance(executor, LocalExecutor)


def test_with_one_its_workers_help(settings) -> None:
    settings.DASK = "tcp://127.0.0.1:9"
    with open_executor(2) as executor:
        assert isinstance(executor, DaskExecutor)
