"""The functions that a Dask worker calls, which it finds by name in its own pmweb."""

from __future__ import annotations

import importlib
from typing import cast

import inference
from inference.core.errors import InterruptedRunError
from inference.core.pacing import PacedReporter, Task, TaskContext


def version_here() -> str:
    """The version of pmweb in this process, for a worker to report."""
    return inference.__version__


def name_of(task: Task) -> str:
    """The name of a module's function for `perform`, `module:function`."""
    return f"{task.__module__}:{task.__qualname__}"


def perform(name: str, common: bytes, piece: bytes) -> bytes:
    """Execute the `Task` with this name on one thread, until it ends or the scheduler cancels it.

    Raises:
        InterruptedRunError: The scheduler has cancelled it.
    """
    module, _, function = name.partition(":")
    task = cast(Task, getattr(importlib.import_module(module), function))
    return task(common, piece, TaskContext(1, PacedReporter(_CancellationReporter()).pulse))


class _CancellationReporter:
    """A reporter whose pulse raises `InterruptedRunError` once the scheduler has cancelled this task."""

    def __init__(self) -> None:
        from distributed import get_worker  # loads Dask

        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def pulse(self) -> None:
        state = self._worker.state.tasks.get(self._key)
        if state is None or state.state == "cancelled":
            raise InterruptedRunError("withdrawal")

    def emit(self, event: object) -> None:
        """Ignore events: a task returns all it has to report."""

    def save(self, checkpoint: object) -> None:
        """Ignore checkpoints: only the result of a task is kept."""
