"""Nobody who is well is held for gone: not when the clock is set, nor when nobody can write for a while."""

from __future__ import annotations

import sqlite3
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from inference.models import Run
from inference.runs import leases, lifecycle
from inference.runs import leases as watch_module
from inference.runs.journal import LEASE_TIME
from inference.runs.kinds import RUN_KINDS
from inference.runs.leases import GRACE_PERIOD, LeaseMonitor
from tests.runs.counting.job import COUNTING
from tests.runs.fixtures import payloads, reached, wait_for


class Time:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.passed = 100.0

    def monotonic(self):
        return self.passed


@pytest.fixture
def clock(monkeypatch):
    made = Time()
    monkeypatch.setattr(watch_module, "time", made)
    return made


@pytest.fixture
def run(db, monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    return lifecycle.submit("count", {}, "a run")


def end_lease(run, by=timedelta(seconds=-1)):
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() + by)


def looks(watch, clock, seconds):
    """What a worker gets that looks twice a second for so long."""
    taken = []
    for _ in range(int(2 * seconds)):
        clock.passed += 0.5
        taken.append(leases.claim("watcher", monitor=watch))
    return taken


@pytest.mark.parametrize("by", [timedelta(seconds=-1), timedelta(hours=-1), timedelta(hours=1)])
def test_whose_lease_has_ended_is_gone_after_a_while_of_doing_nothing_about_it(run, clock, by):
    first = leases.claim("dead")
    end_lease(run, by)
    watch = LeaseMonitor()
    assert looks(watch, clock, GRACE_PERIOD) == [None] * int(2 * GRACE_PERIOD)
    [second] = looks(watch, clock, 0.5)
    assert second.token == first.token + 1


@pytest.mark.parametrize("by", [timedelta(hours=-1), timedelta(hours=1)])
def test_when_the_clock_was_set_a_holder_that_is_well_renews_its_lease_and_keeps_it(run, clock, by):
    lease = leases.claim("well")
    end_lease(run, by)
    watch = LeaseMonitor()
    assert looks(watch, clock, 3) == [None] * 6
    leases.heartbeat(lease)
    assert set(looks(watch, clock, 3 * GRACE_PERIOD)) == {None}
    end_lease(run)  # another time, which has nothing to do with the first
    assert set(looks(watch, clock, GRACE_PERIOD)) == {None}
    leases.heartbeat(lease)


def test_who_could_not_look_for_a_while_knows_nothing_of_the_others(run, clock):
    leases.claim("somebody")
    end_lease(run)
    watch = LeaseMonitor()
    looks(watch, clock, GRACE_PERIOD - 1)
    clock.passed += GRACE_PERIOD  # this computer stood still, perhaps the holder's as well
    assert set(looks(watch, clock, GRACE_PERIOD)) == {None}
    assert looks(watch, clock, 0.5) != [None]


def test_a_run_that_waits_is_taken_beside_one_that_is_watched(run, clock):
    leases.claim("somebody")
    end_lease(run)
    waiting = lifecycle.submit("count", {}, "waits")
    assert leases.claim("watcher", monitor=LeaseMonitor()).run_id == waiting.pk


def test_a_long_transaction_takes_no_run_from_anybody(site):
    runs = [site.count(f"run {number}", steps=100_000, pause=0.05) for number in range(3)]
    site.worker(jobs=4)
    site.worker(jobs=1)
    wait_for(lambda: all(reached(run, 5) for run in runs))
    writer = sqlite3.connect(connection.settings_dict["NAME"], timeout=30, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    time.sleep(LEASE_TIME.total_seconds() + 2.5)  # in other processes, whose clocks cannot be set
    writer.execute("COMMIT")
    writer.close()
    told = timezone.now()
    wait_for(lambda: all(run.events.filter(at__gt=told + timedelta(seconds=2)).exists() for run in runs))
    for run in runs:
        run.refresh_from_db()
        assert (run.lease_token, run.attempts) == (1, 1)
        assert not any("stopped answering" in each["text"] for each in payloads(run, "log"))
