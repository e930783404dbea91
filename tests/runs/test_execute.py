"""One claimed run, done in this process: every way in which it can end."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from inference.models import ISA, Run, RunCheckpoint
from inference.runs import leases, lifecycle
from inference.runs.errors import LeaseLostError
from inference.runs.fork_server import StopRequests, execute
from inference.runs.kinds import RUN_KINDS
from tests.runs.counting.job import COUNTING, CountJob, counted
from tests.runs.fixtures import assert_journal_is_whole, payloads, state

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _counting(monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)


def claimed(**config):
    run = lifecycle.submit("count", config, "a run")
    return run, leases.claim("w")


def test_a_run_is_done_with_its_result():
    run, lease = claimed(steps=3)
    execute(lease, StopRequests(lease))
    assert state(run) == "done"
    assert run.result["value"] == counted(3)
    assert_journal_is_whole(run, 3)


def test_a_failure_that_the_algorithm_explains_is_shown_as_it_says():
    run, lease = claimed(steps=3, fail_at=2)
    execute(lease, StopRequests(lease))
    assert state(run) == "failed"
    assert run.error == "nothing to count"
    assert payloads(run, "state")[-1] == {"state": "failed", "error": "nothing to count"}
    assert len(payloads(run, "step")) == 2


def test_an_unforeseen_error_becomes_a_failed_run_with_its_traceback(caplog):
    run, lease = claimed(steps=3, crash_at=1)
    execute(lease, StopRequests(lease))
    assert state(run) == "failed"
    assert run.error.startswith("RuntimeError: lost count\n")
    assert "_misbehave" in run.error
    assert payloads(run, "state")[-1]["error"] == "RuntimeError: lost count"
    assert "lost count" in caplog.text


@pytest.mark.parametrize(("wish", "end"), [("pause", "paused"), ("cancel", "cancelled")])
def test_a_wish_ends_a_run_with_its_last_step_saved(wish, end):
    run, lease = claimed(steps=50)
    Run.objects.update(wanted=wish)
    execute(lease, StopRequests(lease))
    assert state(run) == end
    assert run.wanted == ""
    assert RunCheckpoint.objects.filter(run=run).exists()
    assert payloads(run, "step") == [{"number": 1}]


def test_a_stopped_process_gives_its_run_back_and_another_ends_it():
    run, lease = claimed(steps=50)
    wishes = StopRequests(lease)
    wishes.stop()
    execute(lease, wishes)
    assert state(run) == "queued"
    again = leases.claim("other")
    execute(again, StopRequests(again))
    assert state(run) == "done"
    assert run.result["value"] == counted(50)
    assert_journal_is_whole(run, 50)
    assert ISA.objects.count() == 1


def test_a_cancel_goes_before_being_stopped():
    run, lease = claimed(steps=50)
    Run.objects.update(wanted="cancel")
    wishes = StopRequests(lease)
    wishes.stop()
    execute(lease, wishes)
    assert state(run) == "cancelled"


def test_a_run_that_was_taken_over_ends_without_a_trace():
    run, lease = claimed(steps=3)
    Run.objects.update(lease_token=lease.token + 1)
    with pytest.raises(LeaseLostError):
        execute(lease, StopRequests(lease))
    assert state(run) == "running"
    assert len(payloads(run, "step")) == 0


def test_a_database_out_of_reach_is_no_verdict_on_the_run(monkeypatch):
    run, lease = claimed(steps=3)

    def away(_job, _task):
        raise OperationalError("database is locked")

    monkeypatch.setattr(CountJob, "work", away)
    with pytest.raises(OperationalError):
        execute(lease, StopRequests(lease))
    assert state(run) == "running"
