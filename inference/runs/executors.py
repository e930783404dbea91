"""Executors of runs: workers of the Dask scheduler that `PMWEB_DASK` names, or threads of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from inference.cluster.executor import DaskExecutor
from inference.core.pacing import Executor, LocalExecutor


@contextmanager
def open_executor(threads: int) -> Iterator[Executor]:
    """Open the Dask cluster of `PMWEB_DASK`, or a pool of threads where that is empty.

    Args:
        threads: Size of the pool; 0 is one thread per processor.
    """
    with open_cluster(LocalExecutor(threads)) as executor:
        yield executor


@contextmanager
def open_cluster(fallback: Executor) -> Iterator[Executor]:
    """Open the Dask cluster of `PMWEB_DASK`; without one, `fallback` itself.

    `fallback` also computes the tasks that the cluster leaves undone.
    """
    if not settings.DASK:
        yield fallback
        return
    executor = DaskExecutor(settings.DASK, fallback)
    try:
        yield executor
    finally:
        executor.close()
