"""What the search keeps of the mappings that it has found."""

from __future__ import annotations

from inference.core.cegar.decision_loop import MAX_POSTPONED, Pool
from inference.core.cegar.shape import Observation, Shape
from inference.core.experiment import Experiment


def test_after_the_first_mapping_falls_all_that_is_left_is_compared_anew() -> None:
    shape = Shape(("a", "b"), (1, 1), 3, 0.02)
    together = Observation.of(shape, Experiment.of({"a": 1, "b": 1}), 1.0)
    pool = Pool(first=(0b001, 0b001), aside=[(0b011, 0b001), (0b001, 0b010)], fresh=2)
    assert pool.keep(together, second=(0b001, 0b110))
    assert pool.first == (0b001, 0b110)
    assert pool.waiting == [(0b011, 0b001), (0b001, 0b010)]
    assert (pool.aside, pool.fresh) == ([], 0)


def test_mappings_compared_with_a_first_one_that_stands_are_not_compared_again() -> None:
    shape = Shape(("a", "b"), (1, 1), 3, 0.02)
    together = Observation.of(shape, Experiment.of({"a": 1, "b": 1}), 1.0)
    pool = Pool(first=(0b001, 0b010), aside=[(0b011, 0b001)], waiting=[(0b001, 0b001), (0b001, 0b110)])
    assert pool.keep(together, second=(0b001, 0b001))
    assert pool.first == (0b001, 0b010)
    assert pool.aside == [(0b011, 0b001)]
    assert pool.waiting == [(0b001, 0b110)]
    assert not pool.keep(Observation.of(shape, Experiment.of({"a": 1}), 3.0), second=(0b001, 0b001))


def test_longer_experiments_wait_until_shorter_ones_tell_no_more() -> None:
    pool = Pool(first=(0b001, 0b010))
    assert not pool.postpone((0b001, 0b001), length=2)
    assert pool.postpone((0b011, 0b010), length=3)
    assert (pool.waiting, pool.longest) == ([], 2)
    assert pool.lengthen()
    assert (pool.waiting, pool.longest) == ([(0b011, 0b010)], 3)
    assert not pool.postpone((0b011, 0b010), length=3)


def test_enough_mappings_that_need_longer_experiments_get_them() -> None:
    pool = Pool(first=(0b001, 0b010))
    others = [(0b011, k + 1) for k in range(MAX_POSTPONED)]
    assert all(pool.postpone(other, length=4) for other in others)
    assert (pool.waiting, pool.later, pool.longest) == (others, [], 3)
    assert not Pool(first=(0b001, 0b010)).lengthen()
