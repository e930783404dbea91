"""A worker's part of a run, in the process of the test."""

from __future__ import annotations

from inference.models import Run
from inference.runs import leases
from inference.runs.execute import StopRequests, execute


def work_off(run: Run) -> Run:
    """Do a run that waits, to whatever end it comes; the same object, as it is then."""
    lease = leases.claim("a test", only=run.pk)
    assert lease is not None, f"{run.name} does not wait for a worker"
    execute(lease, StopRequests(lease))
    run.refresh_from_db()
    return run
