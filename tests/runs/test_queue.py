"""The lanes of long and short runs, and who waits for whom."""

from __future__ import annotations

import pytest

from inference.models import Run
from inference.runs import leases, lifecycle, queue
from inference.runs.registry import JOBS
from tests.runs.counting.job import CountJob

pytestmark = pytest.mark.django_db


class Errand(CountJob):
    short = True


@pytest.fixture(autouse=True)
def _kinds(monkeypatch):
    monkeypatch.setitem(JOBS, "count", CountJob())
    monkeypatch.setitem(JOBS, "errand", Errand())


def submitted(kind: str, name: str) -> Run:
    return lifecycle.submit(kind, {}, name)


def test_imports_and_evaluations_are_short_and_inferences_are_not():
    assert {"import", "evaluate"} <= queue.kinds(short=True)
    assert "infer" in queue.kinds(short=False)
    assert queue.kinds(short=True) | queue.kinds(short=False) == JOBS.keys()


def test_a_claim_of_short_kinds_passes_over_older_long_runs():
    long, short = submitted("count", "long"), submitted("errand", "short")
    lease = leases.claim("w", kinds=queue.kinds(short=True))
    assert lease is not None
    assert lease.run_id == short.pk
    assert leases.claim("w", kinds=queue.kinds(short=True)) is None
    lease = leases.claim("w", kinds=queue.kinds(short=False))
    assert lease is not None
    assert lease.run_id == long.pk


def test_a_run_waits_behind_older_and_running_ones_of_its_lane_alone():
    first, _, third = submitted("count", "1"), submitted("errand", "2"), submitted("count", "3")
    last = submitted("count", "4")
    leases.claim("w", only=first.pk)
    assert queue.ahead_of(last) == [first, third]
    lifecycle.cancel(third)
    assert queue.ahead_of(last) == [first]
    first.refresh_from_db()
    assert queue.ahead_of(first) == []
