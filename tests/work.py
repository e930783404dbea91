"""A worker's part of a run, in the process of the test."""

from __future__ import annotations

from inference.features.library.uploads.query import start_reading
from inference.models import Run, Upload
from inference.runs import leases
from inference.runs.fork_server import StopRequests, execute


def work_off(run: Run) -> Run:
    """Do a run that waits, to whatever end it comes; the same object, as it is then."""
    lease = leases.claim("a test", only=run.pk)
    assert lease is not None, f"{run.name} does not wait for a worker"
    execute(lease, StopRequests(lease))
    run.refresh_from_db()
    return run


def read_uploads() -> None:
    """Read what was uploaded, the oldest file first; those that were stored without a page as well."""
    for upload in Upload.objects.filter(reading=None, run=None).order_by("pk"):
        start_reading(upload, None)
    for run in Run.objects.filter(kind="read", state=Run.State.QUEUED).order_by("pk"):
        work_off(run)
