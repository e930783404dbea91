"""Claiming, keeping and giving up runs."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connections
from django.utils import timezone

from inference.core.events import ResultStored
from inference.models import ISA, Run, RunCheckpoint
from inference.runs import journal, leases, lifecycle
from inference.runs.errors import JobError, LeaseLostError
from inference.runs.journal import Lease
from inference.runs.kinds import RUN_KINDS
from tests.runs.counting.job import COUNTING
from tests.runs.fixtures import numbers, payloads, state


@pytest.fixture
def run(db, monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    return lifecycle.submit("count", {}, "a run")


def lose_contact(run):
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_the_oldest_waiting_run_is_claimed_first_and_only_once(run):
    second = lifecycle.submit("count", {}, "second")
    assert leases.claim("w").run_id == run.pk
    assert leases.claim("w").run_id == second.pk
    assert leases.claim("w") is None
    run.refresh_from_db()
    assert (run.state, run.worker, run.attempts) == ("running", "w", 1)
    assert run.started is not None


def test_a_lease_survives_the_way_to_another_process(run):
    lease = leases.claim("w")
    assert Lease.from_text(lease.as_text()) == lease


def test_a_run_is_taken_over_when_its_holder_is_silent_and_not_before(run):
    first = leases.claim("first")
    assert leases.claim("second") is None
    lose_contact(run)
    second = leases.claim("second")
    assert second.token == first.token + 1
    assert any("first stopped answering" in p["text"] for p in payloads(run, "log"))


def test_a_heartbeat_of_a_late_holder_counts_while_nobody_has_taken_over(run):
    lease = leases.claim("w")
    lose_contact(run)
    leases.heartbeat(lease)
    assert leases.claim("second") is None


@pytest.mark.parametrize(
    "write",
    [
        leases.heartbeat,
        leases.requested_transition,
        lambda lease: journal.append(lease, [("log", {"level": "info", "text": "late"})], checkpoint=b"late"),
        lambda lease: leases.finish(lease, lambda: (ISA.objects.create(name="late"), [])),
        lambda lease: leases.fail(lease, "late"),
        lambda lease: leases.settle_transition(lease, "pause"),
        lambda lease: leases.requeue(lease, "late", is_attempt=False),
    ],
)
def test_whoever_lost_the_lease_can_change_nothing(run, write):
    stale = leases.claim("first")
    lose_contact(run)
    leases.claim("second")
    before = Run.objects.values().get(pk=run.pk)
    with pytest.raises(LeaseLostError):
        write(stale)
    assert Run.objects.values().get(pk=run.pk) == before
    assert numbers(run) == list(range(1, before["next_seq"]))
    assert not RunCheckpoint.objects.exists()
    assert not ISA.objects.exists()


def test_results_and_the_state_done_come_together(run):
    lease = leases.claim("w")
    leases.finish(lease, lambda: ({"isa": ISA.objects.create(name="made").pk}, [ResultStored({"x": 1})]))
    run.refresh_from_db()
    assert (run.state, run.lease_until) == ("done", None)
    assert run.result == {"isa": ISA.objects.get().pk}
    assert run.finished is not None
    assert payloads(run, "result") == [{"x": 1}]
    with pytest.raises(LeaseLostError):
        leases.finish(lease, lambda: ({}, []))


def test_results_that_cannot_be_stored_leave_nothing_behind(run):
    lease = leases.claim("w")

    def store():
        ISA.objects.create(name="half")
        raise JobError("the other half is missing")

    with pytest.raises(JobError):
        leases.finish(lease, store)
    assert state(run) == "running"
    assert not ISA.objects.exists()


def test_a_run_given_back_is_claimed_again_but_not_before_its_delay(run):
    lease = leases.claim("w")
    leases.requeue(lease, "died", is_attempt=True, delay=timedelta(seconds=30))
    assert state(run) == "queued"
    assert run.attempts == 1
    assert leases.claim("w") is None
    lose_contact(run)
    assert leases.claim("w") is not None


def set_clock_back(run, by=timedelta(hours=1)):
    """What was written before looks as if it came from the future."""
    run.refresh_from_db()
    Run.objects.filter(pk=run.pk).update(lease_until=run.lease_until + by)


def test_a_clock_that_is_set_back_neither_keeps_a_dead_holder_nor_a_run_that_waits(run):
    dead = leases.claim("dies")
    set_clock_back(run)
    alive = leases.claim("goes on")
    assert alive.token == dead.token + 1
    leases.requeue(alive, "died", is_attempt=True, delay=timedelta(seconds=5))
    assert leases.claim("w") is None
    set_clock_back(run)
    assert leases.claim("w") is not None


def test_the_time_of_day_does_not_count_for_the_time_spent(run, monkeypatch):
    lease = leases.claim("w")
    later = timezone.now() + timedelta(hours=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    leases.heartbeat(lease)
    run.refresh_from_db()
    assert run.busy_seconds < 60


def test_being_stopped_is_not_an_attempt(run):
    leases.requeue(leases.claim("w"), "the worker was stopped", is_attempt=False)
    assert state(run) == "queued"
    assert run.attempts == 0


@pytest.mark.parametrize(("wish", "end"), [("pause", "paused"), ("cancel", "cancelled")])
def test_a_wish_is_granted_when_the_run_is_given_back_or_its_holder_dies(run, wish, end):
    lease = leases.claim("w")
    Run.objects.update(wanted=wish)
    leases.requeue(lease, "died", is_attempt=True)
    assert state(run) == end
    other = lifecycle.submit("count", {}, "other")
    leases.claim("w")
    Run.objects.filter(pk=other.pk).update(wanted=wish)
    lose_contact(other)
    assert leases.claim("w") is None
    assert state(other) == end


def test_a_run_whose_workers_die_again_and_again_is_given_up(run):
    for _ in range(leases.MAX_ATTEMPTS):
        assert leases.claim("victim") is not None
        lose_contact(run)
    assert leases.claim("victim") is None
    assert state(run) == "failed"
    assert "5 attempts" in run.error
    assert "victim" in run.error


def test_progress_makes_the_attempts_count_anew(run):
    for _ in range(2 * leases.MAX_ATTEMPTS):
        journal.append(leases.claim("w"), [], checkpoint=b"further")
        lose_contact(run)
    assert leases.claim("w") is not None
    assert state(run) == "running"


def test_threads_on_one_file_never_claim_the_same_run(site):
    runs = [site.count(f"run {k}") for k in range(12)]
    claimed: list[int] = []
    start = threading.Barrier(4)

    def work(name):
        start.wait()
        while (lease := leases.claim(name)) is not None:
            claimed.append(lease.run_id)
        connections.close_all()

    threads = [threading.Thread(target=work, args=(f"w{k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == [run.pk for run in runs]


def test_the_database_refuses_a_running_run_without_a_lease(run):
    with pytest.raises(IntegrityError):
        Run.objects.update(state="running", lease_until=None)


def test_the_time_spent_goes_on_between_the_writes_of_a_holder_but_not_without_one(run, monkeypatch):
    moment = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: moment)
    assert leases.busy_seconds(run) == 0
    leases.claim("w")
    for silent, counted in ((4, 4), (600, journal.LEASE_TIME.total_seconds())):
        until = timezone.now() + journal.LEASE_TIME - timedelta(seconds=silent)
        Run.objects.filter(pk=run.pk).update(lease_until=until, busy_seconds=30.0)
        run.refresh_from_db()
        assert leases.busy_seconds(run) == pytest.approx(30 + counted)
    run.state = Run.State.DONE
    assert leases.busy_seconds(run) == 30
