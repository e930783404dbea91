"""Executors of runs: workers of the Dask scheduler that `PMWEB_DASK` names, or threads of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from inference.cluster.executor import DaskExecutor
from inference.core.pacing import Executor, LocalExecutor


@contextmanager
def open_executor(threads: int) -> Iterator[Executor]:
    """The workers of the Dask scheduler that `PMWEB_DASK` names, or else the threads of this process.

    `threads`: how many of these; 0: one per processor.
    """
    with open_cluster(LocalExecutor(threads)) as executor:
        yield executor


@contextmanager
def open_cluster(fallback: Executor) -> Iterator[Executor]:
    """The workers of the Dask scheduler that `PMWEB_DASK` names; `fallback` does what they leave."""
    if not settings.DASK:
        yield fallback
        return
    executor = DaskExecutor(settings.DASK, fallback)
    try:
        yield executor
    finally:
        executor.close()
