"""The least times of a pass: confirmed or not, contradicting each other or not, and what they amount to."""

from __future__ import annotations

import pytest

from inference.agent.harness import DisturbedError, _Minima

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
