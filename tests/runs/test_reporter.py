"""What a search's listener writes, and how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from inference.core import checkpoint as checkpoints
from inference.core.errors import InterruptedRunError
from inference.core.events import Event, Log, PhaseStarted, Progress
from inference.core.pmevo.events import Congruence, Sweep
from inference.core.protocols import Checkpoint
from inference.models import ISA, Run, RunCheckpoint, RunEvent
from inference.runs import journal, leases, lifecycle
from inference.runs.errors import LeaseLostError
from inference.runs.kinds import RUN_KINDS
from inference.runs.reporter import JournalReporter
from tests.runs.counting.job import COUNTING, Step
from tests.runs.fixtures import payloads

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Sketch(Event):
    number: int


@dataclass(frozen=True)
class Picture(Event):
    kind = "picture"
    n: int


STAGES = ["Measure", "Filter", "Evolve", "Climb"]


def stage(index):
    return PhaseStarted(STAGES[index - 1].lower(), index, STAGES)


def progress(phase, done, total=9, eta=None):
    return Progress(phase, done, total, 0.0, "steps", eta)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    return lifecycle.submit("count", {}, "a run")


@pytest.fixture
def reporter(run, clock):
    return JournalReporter(leases.claim("w"), lambda: "", clock)


def saved():
    return checkpoints.decode(bytes(RunCheckpoint.objects.get().data)).meta


def test_many_events_become_few_writes(run, reporter, clock, django_assert_max_num_queries):
    reporter.emit(Step(1))
    with django_assert_max_num_queries(0):
        for number in range(2, 40):
            clock.now += 0.01
            reporter.emit(Step(number))
            reporter.pulse()
    clock.now += 0.1
    with django_assert_max_num_queries(8):
        reporter.pulse()
    assert [p["number"] for p in payloads(run, "step")] == list(range(1, 40))


def test_of_several_progress_events_in_one_write_the_last_remains(run, reporter, clock):
    reporter.emit(Log("info", "start"))
    for done in range(5):
        reporter.emit(progress("one", done))
    clock.now += 1
    reporter.pulse()
    assert payloads(run, "progress") == [progress("one", 4).payload()]
    run.refresh_from_db()
    assert run.progress == progress("one", 4).payload()


def test_checkpoints_are_stored_every_few_seconds_and_the_newest_at_a_flush(reporter, clock):
    for step in range(1, 5):
        clock.now += 0.5
        reporter.save(Checkpoint({"step": step}, {"a": np.arange(step)}))
    assert saved() == {"step": 1}
    reporter.flush()
    assert saved() == {"step": 4}


def test_a_write_that_waited_for_others_is_followed_by_the_next_within_seconds(
    run, reporter, clock, monkeypatch
):
    write = journal.append

    def kept_waiting(*given, **named):
        clock.now += 12
        return write(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(journal, "append", kept_waiting)
        reporter.save(Checkpoint({"step": 1}, {}))
        reporter.flush()
    clock.now += 20.5
    reporter.save(Checkpoint({"step": 2}, {}))
    reporter.emit(Step(1))
    clock.now += 0.5
    reporter.pulse()
    assert payloads(run, "step") == [{"number": 1}]
    assert saved() == {"step": 2}


def test_pictures_are_drawn_of_the_newest_snapshot_and_not_too_often(run, reporter, clock):
    drawn = []
    reporter.draw(Sketch, lambda event: drawn.append(event.number) or Picture(event.number), 2.0)
    for number in range(1, 11):
        clock.now += 0.5
        reporter.emit(Sketch(number))
        reporter.pulse()
    assert drawn == [1, 5, 9]
    reporter.flush()
    assert drawn == [1, 5, 9, 10]
    assert payloads(run, "picture")[-1] == {"n": 10}


def test_a_search_taken_up_again_tells_nothing_twice(run, clock):
    lease = leases.claim("w")
    for generations in ((1, 2, 3), (2, 3, 4)):
        reporter = JournalReporter(lease, lambda: "", clock)
        reporter.emit(stage(3))
        reporter.emit(Congruence(9, 3))
        reporter.emit(Log("warning", "2 schemes are left out"))
        for number in generations:
            reporter.emit(Step(number))
        reporter.flush()
    told = (
        RunEvent.objects.filter(run=run).exclude(kind="state").order_by("seq").values_list("kind", flat=True)
    )
    assert list(told) == ["phase", "congruence", "log", *["step"] * 4]
    assert [p["number"] for p in payloads(run, "step")] == [1, 2, 3, 4]


def test_sweeps_of_independent_starts_are_counted_side_by_side(run, clock):
    lease = leases.claim("w")
    told = [(0, 1), (1, 1), (0, 2), (0, 3), (1, 2)]
    for steps in (told[:4], told[2:]):
        reporter = JournalReporter(lease, lambda: "", clock)
        for start, sweep in steps:
            reporter.emit(Sweep(start, sweep, 1, 0.1, 9, 3))
        reporter.flush()
    assert [(p["start"], p["sweep"]) for p in payloads(run, "sweep")] == told


def test_a_stage_begins_with_the_work_done_before_it(run, clock):
    lease = leases.claim("w")
    reporter = JournalReporter(lease, lambda: "", clock)
    reporter.emit(PhaseStarted("one", 1, ["One"]))
    assert 0 <= payloads(run, "phase")[0]["busy"] <= lease.busy_seconds()


def test_a_wish_interrupts_the_search_at_its_next_pulse(run):
    lease = leases.claim("w")
    wishes = ["", "pause"]
    reporter = JournalReporter(lease, lambda: wishes.pop(0))
    reporter.pulse()
    with pytest.raises(InterruptedRunError) as caught:
        reporter.pulse()
    assert caught.value.request == "pause"


def test_a_new_stage_is_told_at_once_and_has_not_the_progress_of_the_one_before(run, reporter):
    reporter.emit(stage(1))
    reporter.emit(progress("measure", 9, eta=0.0))
    reporter.emit(stage(2))
    run.refresh_from_db()
    assert run.progress == {"phase": "filter", "label": "Filter"}
    assert [p["index"] for p in payloads(run, "phase")] == [1, 2]


def test_a_search_taken_up_again_does_not_show_the_progress_of_a_stage_that_is_done(run, clock):
    lease = leases.claim("w")
    first = JournalReporter(lease, lambda: "", clock)
    for index in (1, 2, 3):
        first.emit(stage(index))
    first.emit(progress("evolve", 30, 60))
    first.flush()
    again = JournalReporter(lease, lambda: "", clock)
    again.emit(stage(1))
    again.emit(progress("measure", 9, eta=0.0))
    again.flush()
    run.refresh_from_db()
    assert run.progress == {**progress("evolve", 30, 60).payload(), "label": "Evolve"}


def test_rows_and_the_checkpoint_that_counts_on_them_are_stored_together(run, reporter):
    reporter.emit(Step(1))
    reporter.settle(Checkpoint({"at": 1}), lambda: ISA.objects.create(name="one"))
    assert saved() == {"at": 1}
    assert ISA.objects.filter(name="one").exists()
    assert payloads(run, "step"), "what waited is told before"

    def fails():
        ISA.objects.create(name="two")
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        reporter.settle(Checkpoint({"at": 2}), fails)
    assert saved() == {"at": 1}
    assert not ISA.objects.filter(name="two").exists()


def test_who_lost_the_lease_stores_no_rows(run, reporter):
    Run.objects.update(lease_token=99)
    with pytest.raises(LeaseLostError):
        reporter.settle(Checkpoint({"at": 1}), lambda: ISA.objects.create(name="one"))
    assert not ISA.objects.filter(name="one").exists()
    assert not RunCheckpoint.objects.exists()
