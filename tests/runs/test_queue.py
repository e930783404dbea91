"""The lanes of long and short runs, and who waits for whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from inference.models import Machine, Run
from inference.runs import kinds, leases, lifecycle
from inference.runs.kinds import RUN_KINDS, Lane, RunKind
from tests.runs.agents import make_machine
from tests.runs.counting.job import COUNTING, CountJob

pytestmark = pytest.mark.django_db


ERRAND = RunKind("errand", "Errand", "An errand", {}, job=CountJob, lane=Lane.SHORT)
QUICK = RunKind("quick", "Quick", "Quick", {}, job=CountJob, lane=Lane.INTERACTIVE)


@pytest.fixture(autouse=True)
def _kinds(monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    monkeypatch.setitem(RUN_KINDS, "errand", ERRAND)
    monkeypatch.setitem(RUN_KINDS, "quick", QUICK)


def submitted(kind: str, name: str) -> Run:
    return lifecycle.submit(kind, {}, name)


@pytest.fixture
def machine():
    return make_machine()


def lane_of(kind: str) -> kinds.Queue:
    return next(lane for lane in kinds.queues() if kind in lane.kinds)


def measuring(machine, name: str) -> Run:
    return lifecycle.submit("measure", {"machine": machine.pk}, name)


def test_imports_and_evaluations_measuring_and_inferences_have_lanes_of_their_own():
    assert lane_of("import") == lane_of("evaluate")
    assert lane_of("block") == lane_of("measure")
    assert len({lane_of(kind) for kind in ("import", "measure", "infer")}) == 3
    assert sorted(kind for lane in kinds.queues() for kind in lane.kinds) == sorted(RUN_KINDS)
    assert [lane.slots for lane in kinds.queues(7) if "infer" in lane.kinds] == [7]


def test_a_claim_of_short_kinds_passes_over_older_long_runs():
    long, short = submitted("count", "long"), submitted("errand", "short")
    lease = leases.claim("w", kinds=lane_of("errand").kinds)
    assert lease is not None
    assert lease.run_id == short.pk
    assert leases.claim("w", kinds=lane_of("errand").kinds) is None
    lease = leases.claim("w", kinds=lane_of("count").kinds)
    assert lease is not None
    assert lease.run_id == long.pk


def test_a_run_waits_for_its_computer_and_passes_over_no_other(machine):
    other = Machine.objects.create(name="desk", kind="agent", isa=machine.isa, facts=machine.facts)
    first, second, elsewhere = measuring(machine, "1"), measuring(machine, "2"), measuring(other, "3")
    inference = lifecycle.submit("infer", {"source": {"machine": machine.pk}}, "4")
    leases.claim("w", only=first.pk)
    assert kinds.blocked_run_ids() == [second.pk, inference.pk]
    assert list(kinds.ahead_of(second)) == [first]
    assert list(kinds.ahead_of(inference)) == [first, second]
    lease = leases.claim("w", kinds=lane_of("measure").kinds, excluded=kinds.blocked_run_ids())
    assert lease is not None
    assert lease.run_id == elsewhere.pk
    assert leases.claim("w", excluded=kinds.blocked_run_ids()) is None
    lifecycle.cancel(first)
    Run.objects.filter(pk=first.pk).update(state=Run.State.CANCELLED, lease_until=None)
    assert kinds.blocked_run_ids() == []


def test_a_run_of_a_dead_worker_is_no_obstacle_to_itself(machine):
    run = measuring(machine, "1")
    leases.claim("w", only=run.pk)
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert leases.claim("v", excluded=[run.pk]) is not None


def test_a_run_waits_behind_older_and_running_ones_of_its_lane_alone():
    first, _, third = submitted("count", "1"), submitted("errand", "2"), submitted("count", "3")
    last = submitted("count", "4")
    leases.claim("w", only=first.pk)
    assert list(kinds.ahead_of(last)) == [first, third]
    lifecycle.cancel(third)
    assert list(kinds.ahead_of(last)) == [first]
    first.refresh_from_db()
    assert list(kinds.ahead_of(first)) == []


def test_neither_a_whole_nor_its_part_waits_behind_the_other(machine):
    whole = measuring(machine, "whole")
    part = lifecycle.submit("measure", {"machine": machine.pk}, "part", part_of=whole)
    other = measuring(machine, "other")
    leases.claim("w", only=part.pk)
    assert list(kinds.ahead_of(whole)) == []
    assert list(kinds.ahead_of(other)) == [whole, part]
    Run.objects.filter(pk=part.pk).update(state=Run.State.QUEUED)
    part.refresh_from_db()
    Run.objects.filter(pk=whole.pk).update(state=Run.State.RUNNING, lease_until=timezone.now())
    assert list(kinds.ahead_of(part)) == []


def test_an_interactive_run_neither_waits_for_a_computer_nor_is_waited_for(machine):
    first = measuring(machine, "1")
    quick = lifecycle.submit("quick", {}, "quick")
    Run.objects.filter(pk=quick.pk).update(config={"machine": machine.pk})
    quick.refresh_from_db()
    leases.claim("w", only=first.pk)
    assert kinds.blocked_run_ids() == []
    assert list(kinds.ahead_of(quick)) == []
    leases.claim("w", only=quick.pk)
    Run.objects.filter(pk=first.pk).update(state=Run.State.CANCELLED, lease_until=None)
    last = measuring(machine, "last")
    assert kinds.blocked_run_ids() == []
    assert list(kinds.ahead_of(last)) == []
