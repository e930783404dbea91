"""When a result has settled."""

from __future__ import annotations

import pytest

from inference.agent.process import HungError, LostError
from inference.agent.protocol import Settings
from inference.agent.settling import KILLS, SettlingItem
from tests.agent.conftest import item

SETTINGS = Settings(tolerance=0.01, min_passes=2, max_passes=4)


def candidate(*cycles: float) -> SettlingItem:
    return SettlingItem(item("nop", b"\x90"), cycles=list(cycles), passes=len(cycles))


def test_two_passes_that_agree_settle_it_with_their_mean():
    result = candidate(1.0, 1.008).result(SETTINGS, "")
    assert (result.state, result.cycles, result.passes) == ("settled", pytest.approx(1.004), 2)
    assert result.spread == pytest.approx(0.008)


def test_one_pass_settles_nothing():
    assert not candidate(1.0).is_over(SETTINGS)


def test_the_pair_that_agrees_best_counts_and_the_spread_tells_of_the_others():
    result = candidate(1.4, 1.0, 1.2, 1.002).result(SETTINGS, "")
    assert (result.state, result.cycles) == ("settled", pytest.approx(1.001))
    assert result.spread == pytest.approx(0.4)


def test_a_pass_that_was_too_fast_is_outvoted_by_three_that_agree():
    result = candidate(1.004, 0.5, 1.008, 1.0).result(SETTINGS, "")
    assert (result.state, result.cycles) == ("settled", pytest.approx(1.004))
    assert not candidate(1.004, 0.5, 1.0).has_settled(SETTINGS), "two do not outvote one"
    assert not candidate(1.004, 0.5, 1.2, 1.0).has_settled(SETTINGS)


def test_passes_that_never_agree_leave_it_unsettled():
    one = candidate(1.0, 1.1, 1.2, 1.3)
    assert one.is_over(SETTINGS)
    result = one.result(SETTINGS, "")
    assert (result.state, result.note) == ("unsettled", "4 passes do not agree")


def test_what_a_disturbed_computer_left_unsettled_is_contended():
    result = candidate(1.0).result(SETTINGS, "additions are 40 % slower than they should be")
    assert (result.state, result.note[:9]) == ("contended", "additions")


def test_the_tolerance_is_per_instruction_and_relative_for_slow_ones():
    assert not candidate(1.0, 1.03).has_settled(SETTINGS)
    long = SettlingItem(item("nop", b"\x90"), cycles=[1.0, 1.03], passes=2)
    object.__setattr__(long.item, "instructions", 5)
    assert long.has_settled(SETTINGS)
    assert candidate(40.0, 40.15).has_settled(SETTINGS)


def test_a_crash_is_the_items_fault_at_once_and_a_kill_only_when_repeated():
    crashed = candidate()
    assert crashed.record_end(LostError("illegal instruction", at_fault=True))
    assert crashed.result(SETTINGS, "").note == "illegal instruction"
    assert candidate().record_end(HungError("does not end within 2 s"))
    killed = candidate()
    killer = LostError("ended by signal 9", at_fault=False)
    assert [killed.record_end(killer) for _ in range(KILLS + 1)] == [False] * KILLS + [True]
