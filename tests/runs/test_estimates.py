"""How long runs take, by the runs of a site: before they begin, while they work, and when they have ended."""

from __future__ import annotations

import os

import pytest
from django.utils import timezone

from inference.core.events import PhaseStarted
from inference.core.protocols import Json
from inference.core.run_times import Basis
from inference.models import ISA, Machine, Run, RunEvent
from inference.runs.estimates import estimate
from inference.runs.journal import LEASE_TIME
from inference.runs.plans import LIMIT_SECONDS, plan_of
from inference.storage.instruction_sets import new_isa

LABELS = ("Make the chains", "Measure them")


@pytest.fixture
def machine(db: None) -> Machine:
    return Machine.objects.create(name="lab", kind="agent", isa=new_isa("toy", ["a", "b"], "a test"))


def description(machine: Machine, **changes: object) -> Json:
    return {"machine": machine.pk, "isa": "toy", "schemes": "all", "seed": 1, **changes}


def a_run(machine: Machine, state: str, busy: float, *starts: float, **changes: object) -> Run:
    run = Run.objects.create(
        name=f"run {Run.objects.count()}",
        kind="latencies",
        config=description(machine),
        state=state,
        busy_seconds=busy,
        lease_until=timezone.now() + LEASE_TIME,
        started=timezone.now(),
        **changes,
    )
    for number, start in enumerate(starts, start=1):
        phase = PhaseStarted(LABELS[number - 1], number, LABELS, start)
        RunEvent.objects.create(run=run, seq=number, kind=phase.kind, payload=phase.payload())
    return run


def test_a_new_run_takes_as_long_as_the_last_such_runs(machine: Machine) -> None:
    a_run(machine, "done", 100.0, 2.0, 10.0)
    other = Machine.objects.create(name="other", kind="agent", isa=machine.isa)
    a_run(other, "done", 9000.0, 2.0, 10.0)
    a_run(machine, "failed", 5.0, 2.0)
    expected = estimate("latencies", description(machine, seed=7)).time
    assert expected.basis is Basis.ALIKE
    assert expected.total is not None
    assert expected.total.likely == 100.0
    assert expected.steps == {LABELS[0]: 8.0, LABELS[1]: 90.0}
    assert estimate("latencies", description(machine, schemes=[1])).time.basis is not Basis.ALIKE


def test_a_queued_run_shows_its_steps_before_it_has_any(machine: Machine) -> None:
    a_run(machine, "done", 100.0, 2.0, 10.0)
    plan = plan_of(a_run(machine, "queued", 0.0))
    assert [(step.label, step.state, step.left) for step in plan.steps] == [
        (LABELS[0], "", 8.0),
        (LABELS[1], "", 90.0),
    ]
    assert "As the last such run on this computer took." in plan.reason


def test_a_running_run_follows_its_pace(machine: Machine) -> None:
    a_run(machine, "done", 100.0, 2.0, 10.0)
    progress = {"phase": LABELS[1], "done": 50, "total": 100, "unit": "chains"}
    plan = plan_of(a_run(machine, "running", 55.0, 2.0, 10.0, progress=progress))
    assert [step.state for step in plan.steps] == ["done", "current"]
    assert plan.left is not None
    assert plan.left.likely == pytest.approx(45.0, rel=0.1)
    slow = plan_of(a_run(machine, "running", 460.0, 2.0, 10.0, progress=progress))
    assert slow.is_slow
    assert "Slower than usual" in slow.reason
    assert slow.left is not None
    assert slow.left.likely > 200.0


def test_the_seconds_of_a_time_limit_are_no_progress(machine: Machine) -> None:
    a_run(machine, "done", 100.0, 2.0, 10.0)
    progress = {"phase": LABELS[1], "done": 5, "total": 600, "unit": LIMIT_SECONDS}
    plan = plan_of(a_run(machine, "running", 15.0, 2.0, 10.0, progress=progress))
    assert plan.left is not None
    assert plan.left.likely < 100.0


def test_an_ended_run_has_durations_and_nothing_left(machine: Machine) -> None:
    plan = plan_of(a_run(machine, "failed", 12.0, 2.0, 10.0))
    assert [(step.state, step.seconds) for step in plan.steps] == [("done", 8.0), ("stopped", 2.0)]
    assert plan.left is None
    assert plan_of(a_run(machine, "cancelled", 0.0)).steps == ()


def test_load_counts_where_it_is_known(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    a_run(machine, "done", 100.0, 2.0, 10.0)
    monkeypatch.setattr(os, "getloadavg", lambda: (7.0, 0.0, 0.0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1})
    assert estimate("latencies", description(machine)).load == 1.0, "another computer's load is unknown"
    Machine.objects.update(local=True)
    loaded = estimate("latencies", description(machine))
    assert loaded.time.total is not None
    assert loaded.time.total.likely == pytest.approx(400.0)
    assert "Other work runs on this computer" in loaded.reason


def test_a_machine_without_runs_is_estimated_by_the_reference(machine: Machine) -> None:
    config = {"machine": machine.pk, "isa": "toy", "schemes": "default"}
    expected = estimate("latencies", config)
    assert expected.time.basis is Basis.REFERENCE
    assert expected.time.total is not None
    assert expected.time.total.most / expected.time.total.least > 5
    assert ISA.objects.count() == 1
