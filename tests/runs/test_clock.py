"""When the clock is set, nobody who is well is held for silent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer
from django.utils import timezone

from inference.models import Run
from inference.runs import clock as clock_module
from inference.runs import leases, lifecycle
from inference.runs.clock import Clock
from inference.runs.registry import JOBS
from inference.runs.worker import RunWorker
from tests.runs.counting.job import CountJob


class Times:
    """The time of day, and the seconds that nobody sets."""

    def __init__(self):
        self.ahead, self.passed = 1.7e9, 100.0

    def time(self):
        return self.passed + self.ahead

    def monotonic(self):
        return self.passed

    def pass_by(self, seconds):
        self.passed += seconds


@pytest.fixture
def times(monkeypatch):
    made = Times()
    monkeypatch.setattr(clock_module, "time", made)
    return made


def settled_for(clock, times, seconds):
    """What the clock says in each of so many seconds, looked at twice a second."""
    said = []
    for _ in range(2 * seconds):
        times.pass_by(0.5)
        said.append(clock.is_settled())
    return said


@pytest.mark.parametrize("jump", [3600, -3600, 30, -30])
def test_after_a_jump_holders_have_a_lease_s_time_to_renew_theirs(times, jump):
    clock = Clock()
    assert all(settled_for(clock, times, 60))
    times.ahead += jump
    assert not any(settled_for(clock, times, 10))
    assert all(settled_for(clock, times, 60)[1:])


def test_a_clock_that_is_corrected_gradually_is_believed(times):
    clock = Clock()
    for _ in range(20_000):
        times.ahead += 0.0005  # the most that Linux's kernel allows, in a second
        times.pass_by(1.0)
        assert clock.is_settled()


def test_time_that_passes_without_a_look_is_no_jump(times):
    clock = Clock()
    times.pass_by(300.0)
    assert clock.is_settled()


@pytest.mark.django_db(transaction=True)
def test_a_worker_takes_nothing_over_when_the_clock_was_set_and_goes_on_with_what_waits(times, monkeypatch):
    monkeypatch.setitem(JOBS, "count", CountJob())
    worker = RunWorker(None, ["work"], InMemoryChannelLayer(), jobs=1)
    claim = async_to_sync(worker._claim)
    silent = lifecycle.submit("count", {}, "its holder may be well")
    leases.claim("somebody else", only=silent.pk)
    assert claim(worker._lanes) is None
    times.ahead += 3600  # its lease has ended by this time of day
    Run.objects.filter(pk=silent.pk).update(lease_until=timezone.now() - timedelta(hours=1))
    assert claim(worker._lanes) is None
    waiting = lifecycle.submit("count", {}, "waits")
    assert claim(worker._lanes)[1].run_id == waiting.pk
    times.pass_by(11.0)
    assert claim(worker._lanes)[1].run_id == silent.pk
