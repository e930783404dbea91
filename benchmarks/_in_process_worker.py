"""A worker's part of runs, done in this process."""

from __future__ import annotations

from typing import Any

from inference.features.library.uploads.query import start_reading
from inference.models import Run, Upload
from inference.runs import leases, lifecycle
from inference.runs.fork_server import StopRequests, execute


def done(kind: str, config: dict[str, Any]) -> Run:
    """A new run, done. Raises `RuntimeError` where it has ended otherwise."""
    made = work_off(lifecycle.submit(kind, config, lifecycle.unused_name(f"{kind} of a benchmark")))
    if made.state != Run.State.DONE:
        raise RuntimeError(f"the run of kind {kind} ended as {made.state}: {made.error}")
    return made


def work_off(run: Run) -> Run:
    """Do a run that waits, to whatever end it comes."""
    lease = leases.claim("benchmark", only=run.pk)
    assert lease is not None, "nobody else works here"
    execute(lease, StopRequests(lease))
    run.refresh_from_db()
    return run


def read_uploads() -> None:
    """Read the files that wait to be read."""
    for upload in Upload.objects.filter(reading=None, run=None):
        start_reading(upload, None)
    for run in Run.objects.filter(kind="read", state=Run.State.QUEUED):
        work_off(run)
