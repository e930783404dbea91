"""What a Dask worker calls. It finds these functions by name in its own pmweb."""

from __future__ import annotations

import importlib
from typing import cast

import inference
from inference.core.errors import InterruptedRunError
from inference.core.pacing import PacedReporter, Task, TaskContext


def version_here() -> str:
    """The version of pmweb that a worker has."""
    return inference.__version__


def name_of(task: Task) -> str:
    """By which `perform` finds a function of a module."""
    return f"{task.__module__}:{task.__qualname__}"


def perform(name: str, common: bytes, piece: bytes) -> bytes:
    """Carry out a `Task` with the one thread that Dask gives it, for as long as its answer is wanted."""
    module, _, function = name.partition(":")
    task = cast(Task, getattr(importlib.import_module(module), function))
    return task(common, piece, TaskContext(1, PacedReporter(_Wanted()).pulse))


class _Wanted:
    """A reporter whose pulse raises when the scheduler has taken this piece back."""

    def __init__(self) -> None:
        from distributed import get_worker  # loads Dask

        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def pulse(self) -> None:
        state = self._worker.state.tasks.get(self._key)
        if state is None or state.state == "cancelled":
            raise InterruptedRunError("withdrawal")

    def emit(self, event: object) -> None:
        """What there is to tell goes back with the answer."""

    def save(self, checkpoint: object) -> None:
        """The answer is all that is kept."""
