from __future__ import annotations

from inference.core.pacing import MAX_SAVE_SHARE, PULSE_INTERVAL, SAVE_INTERVAL, PacedReporter
from inference.core.protocols import Checkpoint
from tests.core.pmevo.small import Listener


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Slow(Listener):
    """Takes a while to save."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__()
        self.clock, self.seconds, self.pulses = clock, seconds, 0

    def save(self, checkpoint: Checkpoint) -> None:
        self.clock.now += self.seconds
        super().save(checkpoint)

    def pulse(self) -> None:
        self.pulses += 1


def test_pulses_are_passed_on_often_but_not_always() -> None:
    clock = Clock()
    listener = Slow(clock, 0)
    pace = PacedReporter(listener, clock)
    for _ in range(1000):
        clock.now += 0.001
        pace.pulse()
    assert 1 / PULSE_INTERVAL * 0.8 <= listener.pulses <= 1 / PULSE_INTERVAL


def test_saving_waits_its_time_unless_it_must_be_now() -> None:
    clock = Clock()
    listener = Slow(clock, 0)
    pace = PacedReporter(listener, clock)
    pace.save(lambda: Checkpoint({}))
    assert listener.saved == []
    pace.save(lambda: Checkpoint({}), now=True)
    clock.now += SAVE_INTERVAL
    pace.save(lambda: Checkpoint({}))
    assert len(listener.saved) == 2


def test_large_checkpoints_take_a_small_share_of_the_time() -> None:
    clock = Clock()
    listener = Slow(clock, 2.0)
    pace = PacedReporter(listener, clock)
    start = clock.now
    while clock.now < start + 1000:
        clock.now += 0.5
        pace.save(lambda: Checkpoint({}))
    assert 2.0 * len(listener.saved) / (clock.now - start) <= MAX_SAVE_SHARE * 1.05
    assert len(listener.saved) > 10


def test_what_is_due_is_due_once_per_interval() -> None:
    clock = Clock()
    pace = PacedReporter(Listener(), clock)
    assert [pace.due("a", 1.0), pace.due("a", 1.0), pace.due("b", 1.0)] == [True, False, True]
    clock.now += 1.0
    assert pace.due("a", 1.0)
