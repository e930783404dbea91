"""Traits that go with large errors: found where they are, and hardly ever where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.judging.residual_traits import (
    MAX_P,
    Trait,
    TraitFindings,
    _rank_test,
    _ranks,
    significant_traits,
)


def test_a_trait_of_the_blocks_that_are_off_is_told_with_its_direction() -> None:
    dice = np.random.default_rng(1)
    errors = dice.normal(0, 0.02, 300)
    bad = np.arange(300) % 10 == 0
    errors[bad] = 0.3 + dice.normal(0, 0.02, 30)
    innocent = {Trait("scheme", f"s{at}"): dice.random(300) < 0.2 for at in range(40)}
    found = significant_traits(errors, {**innocent, Trait("memory", "forwarded"): bad})
    assert [(one.kind, one.name, one.n) for one in found.traits] == [("memory", "forwarded", 30)]
    (told,) = found.traits
    assert told.signed == pytest.approx(30, abs=2)
    assert told.inside > 10 * told.outside
    assert told.farther > 0.99
    assert found.tried == 41


def test_without_a_reason_hardly_anything_is_told() -> None:
    told = 0
    for seed in range(100):
        dice = np.random.default_rng(seed)
        traits = {Trait("scheme", str(at)): dice.random(200) < 0.3 for at in range(30)}
        told += bool(significant_traits(dice.standard_t(2, 200), traits).traits)
    assert told <= 100 * MAX_P * 4


def test_blocks_that_are_not_compared_and_rare_traits_do_not_count() -> None:
    errors = np.array([np.nan] * 50 + [1.0] * 10 + [0.0] * 40)
    off = errors == 1.0
    unasked = np.isnan(errors)
    rare = np.arange(100) == 55
    found = significant_traits(
        errors, {Trait("a", "off"): off, Trait("b", "x"): unasked, Trait("c", "y"): rare}
    )
    assert (found.tried, [one.name for one in found.traits]) == (1, ["off"])


def test_nothing_to_compare_is_nothing_found() -> None:
    assert significant_traits(np.array([]), {Trait("a", "b"): np.array([], dtype=bool)}) == TraitFindings(
        0, ()
    )
    same = significant_traits(np.ones(20), {Trait("a", "b"): np.arange(20) < 10})
    assert (same.tried, same.traits) == (1, ())


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=40))
def test_the_statistic_is_that_of_scipy(drawn: list[tuple[int, bool]]) -> None:
    from scipy.stats import mannwhitneyu

    values = np.array([value for value, _ in drawn], dtype=float)
    held = np.array([flag for _, flag in drawn])
    if held.all() or not held.any() or len(set(values)) == 1:
        return
    expected = mannwhitneyu(values[held], values[~held], alternative="greater", method="asymptotic")
    farther, p = _rank_test(_ranks(values), held)
    assert farther * held.sum() * (~held).sum() == pytest.approx(expected.statistic)
    assert p == pytest.approx(expected.pvalue)
