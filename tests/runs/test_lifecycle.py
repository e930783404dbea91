"""What a user does to runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from inference.models import Run
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError, DuplicateRunNameError, RunStateError
from inference.runs.kinds import RUN_KINDS
from tests.runs.counting.job import COUNTING
from tests.runs.fixtures import payloads, state

pytestmark = pytest.mark.django_db


KEEPING = replace(COUNTING, partial_result=repr)


@pytest.fixture(autouse=True)
def _counting(monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)


def submit(name="a run", **config):
    return lifecycle.submit("count", config, name)


def test_a_submitted_run_waits_with_its_complete_description():
    user = User.objects.create(username="someone")
    first = submit()
    run = lifecycle.submit("count", {"steps": 3}, "  again ", user=user, forked_from=first)
    assert (run.state, run.name, run.created_by, run.forked_from) == ("queued", "again", user, first)
    assert run.config["steps"] == 3
    assert run.config["pause"] == 0.0
    assert payloads(run, "state") == [{"state": "queued"}]


def test_a_run_needs_a_name_of_its_own_and_a_known_kind():
    submit("taken")
    with pytest.raises(DuplicateRunNameError, match=r"'taken \(2\)'"):
        submit("taken")
    with pytest.raises(ConfigError, match="at most 200 characters"):
        submit("n" * 201)
    with pytest.raises(ConfigError, match=r"there are accuracy, .*measure"):
        lifecycle.submit("dance", {}, "no such kind")
    assert Run.objects.count() == 1


def test_a_run_without_a_name_is_named_by_its_kind():
    assert submit("  ").name == "count"
    assert submit("").name == "count (2)"


def test_an_unused_name_counts_on():
    submit("n")
    submit("n (2)")
    assert lifecycle.unused_name("n") == "n (3)"
    assert lifecycle.unused_name("m") == "m"


def test_a_queued_run_is_paused_resumed_and_cancelled_at_once():
    run = submit()
    assert lifecycle.pause(run).state == "paused"
    assert leases.claim("w") is None
    assert lifecycle.resume(run).state == "queued"
    cancelled = lifecycle.cancel(run)
    assert cancelled.state == "cancelled"
    assert cancelled.finished is not None
    assert leases.claim("w") is None
    assert [p["state"] for p in payloads(run, "state")] == ["queued", "paused", "queued", "cancelled"]


def test_of_a_running_run_only_the_wish_is_noted():
    run = submit()
    lease = leases.claim("w")
    assert lifecycle.pause(run).state == "running"
    assert leases.heartbeat(lease) == "pause"
    assert lifecycle.cancel(run).wanted == "cancel"
    assert leases.heartbeat(lease) == "cancel"


def test_a_cancel_cannot_be_turned_into_a_pause():
    run = submit()
    leases.claim("w")
    lifecycle.cancel(run)
    assert lifecycle.pause(run).wanted == "cancel"


def test_resume_withdraws_a_pause_that_has_not_happened():
    run = submit()
    lease = leases.claim("w")
    lifecycle.pause(run)
    assert lifecycle.resume(run).wanted == ""
    assert leases.heartbeat(lease) == ""


def test_a_run_whose_worker_is_gone_is_cancelled_without_one():
    run = submit()
    lease = leases.claim("w")
    Run.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert lifecycle.cancel(run).state == "cancelled"
    with pytest.raises(leases.LeaseLostError):
        leases.heartbeat(lease)


@pytest.mark.parametrize(
    ("action", "word"), [("pause", "paused"), ("resume", "resumed"), ("cancel", "cancelled")]
)
def test_what_is_over_can_be_neither_paused_nor_resumed_nor_cancelled(action, word):
    run = submit()
    lifecycle.cancel(run)
    before = run.next_seq
    with pytest.raises(RunStateError, match=f"'a run' is cancelled and cannot be {word}"):
        getattr(lifecycle, action)(run)
    assert state(run) == "cancelled"
    assert run.next_seq == before


def test_only_a_paused_run_can_be_resumed():
    run = submit()
    with pytest.raises(RunStateError, match="only paused runs can"):
        lifecycle.resume(run)


def test_only_running_runs_that_have_something_keep_it(monkeypatch):
    run = submit()
    leases.claim("w")
    with pytest.raises(RunStateError):
        lifecycle.keep(run)
    monkeypatch.setitem(RUN_KINDS, "count", KEEPING)
    assert lifecycle.keep(run).wanted == "keep"
    assert lifecycle.cancel(run).wanted == "cancel"
    with pytest.raises(RunStateError):
        lifecycle.keep(run)
    assert Run.objects.get().wanted == "cancel"


def test_a_run_given_back_still_keeps_what_it_has_when_somebody_takes_it_up(monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", KEEPING)
    run = submit()
    lease = leases.claim("w")
    lifecycle.keep(run)
    leases.requeue(lease, "the worker was stopped", is_attempt=False)
    again = leases.claim("v")
    assert again is not None
    assert leases.requested_transition(again) == "keep"
    leases.settle_transition(again, "keep")
    assert state(run) == "cancelled"
