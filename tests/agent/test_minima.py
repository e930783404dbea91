"""The least times of a pass: confirmed or not, contradicting each other or not, and what they amount to."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from inference.agent import child, harness
from inference.agent.harness import DisturbedError, Timer, Timing, _Minima
from inference.agent.protocol import BatchItem, Settings

CALL = 100  # nanoseconds that do not belong to the iterations


def minima(*bodies: int) -> _Minima:
    """A chain of 100 cycles, one nanosecond each, and bodies of 50 copies that take so many nanoseconds."""
    made = _Minima([10] * (1 + len(bodies)), [100] + [50] * len(bodies))
    for which, nanoseconds in enumerate((100, *bodies)):
        made.add(which, 1, 10 * nanoseconds + CALL)
        made.add(which, 2, 20 * nanoseconds + CALL)
    return made


def test_the_faster_body_per_copy_counts_and_constant_parts_cancel():
    timing = minima(75, 60).timing(0.25)
    assert timing.cycles == pytest.approx(60 / 50)
    assert (timing.ghz, timing.sentinel) == (pytest.approx(1.0), 0.25)


@pytest.mark.parametrize(
    ("longer", "shorter", "cycles"),
    [
        pytest.param(41, 21, 1.0, id="one cycle for the loop itself"),
        pytest.param(44, 20, 1.0, id="the shorter one fits a buffer"),
        pytest.param(40, 20, 1.0, id="nothing for the loop itself"),
    ],
)
def test_blocks_take_what_another_copy_takes(longer: int, shorter: int, cycles: float):
    made = _Minima([10] * 3, [100, 40, 20])
    for which, nanoseconds in enumerate((100, longer, shorter)):
        made.add(which, 1, 10 * nanoseconds + CALL)
        made.add(which, 2, 20 * nanoseconds + CALL)
    assert made.timing(0.25, subtracts_loop=True).cycles == pytest.approx(cycles)
    assert made.timing(0.25).cycles == pytest.approx(min(longer / 40, shorter / 20))


def test_a_least_time_is_confirmed_by_another_near_it_and_not_by_itself():
    made = minima(75)
    assert not made.is_confirmed(1, 1)
    made.add(1, 1, 900)
    assert not made.is_confirmed(1, 1)
    made.add(1, 1, 851)
    assert made.is_confirmed(1, 1)
    assert not made.is_confirmed(1, 2)


def test_a_body_of_which_one_length_was_always_disturbed_plays_no_part():
    made = minima(75, 60)
    assert made.doubtful() == []
    slow = _Minima([10, 10, 10], [100, 50, 50])
    for which, times, elapsed in ((0, 1, 1100), (0, 2, 2100), (1, 1, 850), (1, 2, 1600)):
        slow.add(which, times, elapsed)
    slow.add(2, 1, 900)  # 200 too many: the difference to the double would be too small
    slow.add(2, 2, 1300)
    assert slow.doubtful() == [2]
    assert slow.timing(0.25).cycles == pytest.approx(75 / 50)


def test_more_iterations_that_take_no_more_time_are_a_disturbed_pass():
    made = _Minima([10, 10], [100, 50])
    for which, times, elapsed in ((0, 1, 1100), (0, 2, 2100), (1, 1, 1000), (1, 2, 900)):
        made.add(which, times, elapsed)
    with pytest.raises(DisturbedError):
        made.timing(0.25)


class Scripted(Timer):
    """Times nothing: a cycle is a nanosecond, the body takes 75, and the first short samples are disturbed.

    `sentinels` are what the sentinel shows, one look after the other; 1/4 when they are used up.
    """

    def __init__(self, disturbed: int = 0, sentinels: tuple[float, ...] = ()) -> None:
        self._settings = Settings(repetitions=3)
        self._chain: Any = ("chain", 10)
        self._disturbed = disturbed
        self._sentinels = list(sentinels)
        self.bodies = 0

    def _time_calls(self) -> None: ...

    def _iterations(self, function: Any) -> int:
        return 10

    def clock(self) -> float:
        return 1.0

    def additions(self, clock: float) -> float:
        return self._sentinels.pop(0) if self._sentinels else 0.25

    def elapsed(self, function: Any, n: int) -> int:
        if function == "chain":
            return 100 * n + CALL
        self.bodies += 1
        if n == 10 and self._disturbed:
            self._disturbed -= 1
            return 75 * n + CALL + 200
        return 75 * n + CALL

    def cycles(self, quiet: float | None = 0.25) -> float:
        return self._compare([("body", 50)], quiet).cycles  # type: ignore[list-item]


def test_times_that_are_seen_twice_are_not_taken_again():
    timer = Scripted()
    assert timer.cycles() == pytest.approx(75 / 50)
    assert timer.bodies == 4


def test_confirmed_times_that_contradict_each_other_are_taken_again():
    timer = Scripted(disturbed=2)  # both times alike, so that they confirm each other
    assert timer.cycles() == pytest.approx(75 / 50)


def test_a_sample_with_a_disturbed_sentinel_on_either_side_does_not_count():
    timer = Scripted(sentinels=(0.4, 0.25, 0.4, 0.25))  # off before the first, off after the first
    assert timer.cycles() == pytest.approx(75 / 50)
    assert timer.bodies == 5


def test_what_waits_for_itself_is_timed_beside_others():
    asked: list[float | None] = []

    class Asked(Scripted):
        def time(self, item: BatchItem, quiet: float | None = None) -> Timing:
            asked.append(quiet)
            return Timing(1.0, 1.0, 0.4)

    ours, its = socket.socketpair()
    item = BatchItem("a", b"\x90", 1, 1, 1, 1)
    for bound in (False, True):
        child._time(its, Asked(), replace(item, latency_bound=bound), 0.25)
    assert asked == [0.25, None]
    ours.close()
    its.close()


@pytest.mark.parametrize("pattern", [(0.4,), (0.25, 0.4)], ids=["always off", "off after each sample"])
def test_a_core_that_is_never_quiet_long_enough_ends_the_pass(pattern, monkeypatch):
    monkeypatch.setattr(harness, "_MAX_WAIT_NS", 2_000_000)
    with pytest.raises(DisturbedError):
        Scripted(sentinels=pattern * 1_000_000).cycles()


def test_a_core_that_is_quiet_for_a_moment_now_and_then_ends_the_pass_before_it_seems_to_hang(monkeypatch):
    now = [0]
    monkeypatch.setattr(harness.time, "perf_counter_ns", lambda: now[0])

    class Restless(Scripted):
        def additions(self, clock: float) -> float:
            now[0] += 1_000_000
            return (
                0.25 if now[0] % 25_000_000 < 2_000_000 else 0.4
            )  # at last just before its patience is over

    with pytest.raises(DisturbedError):
        Restless(disturbed=1000).cycles()
    assert now[0] < 0.5e9 * Settings().timeout
