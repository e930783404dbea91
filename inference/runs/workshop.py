"""Who computes for the runs of this installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from inference.cluster.workshop import DaskWorkshop
from inference.core.workshop import LocalWorkshop, Workshop


@contextmanager
def open_workshop(threads: int) -> Iterator[Workshop]:
    """The workers of the Dask scheduler that `PMWEB_DASK` names, or else the threads of this process.

    `threads`: how many of these; 0: one per processor.
    """
    with open_cluster(LocalWorkshop(threads)) as workshop:
        yield workshop


@contextmanager
def open_cluster(spare: Workshop) -> Iterator[Workshop]:
    """The workers of the Dask scheduler that `PMWEB_DASK` names; `spare` does what they leave."""
    if not settings.DASK:
        yield spare
        return
    workshop = DaskWorkshop(settings.DASK, spare)
    try:
        yield workshop
    finally:
        workshop.close()
