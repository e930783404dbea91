"""What discoveries cover, and the best few of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anica_app.core.discovery_selection import best_selection, covered_blocks
from inference.core.errors import InvalidInputError
from tests.anica.core.search.toy import ToyDomain, abstract_of
from tests.drawn import examples


def test_blocks_are_covered_through_what_represents_them_rotation_and_others_in_between_included():
    domain = ToyDomain()
    discoveries = [abstract_of(domain, "a1", "b", aliasing=[(0, 1, "must")]), abstract_of(domain, "a2")]
    blocks = [("b1x", "a2y", "a1x"), ("b1x", "a1y"), ("a2x",), ("b2x",)]
    covered = covered_blocks(domain, discoveries, blocks)
    assert covered.tolist() == [[True, False, False, False], [True, False, True, False]]


@examples(60)
@given(arrays(bool, st.tuples(st.integers(1, 7), st.integers(0, 12))), st.integers(1, 4))
def test_no_other_few_cover_more(covered, k):
    found = best_selection(covered, k)
    most = max(
        int(covered[list(rows)].any(axis=0).sum())
        for rows in itertools.combinations(range(len(covered)), min(k, len(covered)))
    )
    assert found.proven
    assert len(found.chosen) <= k
    assert found.blocks == most == int(covered[list(found.chosen)].any(axis=0).sum())


def test_the_one_that_adds_most_comes_first_and_none_that_adds_nothing():
    covered = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 0]], dtype=bool)
    assert best_selection(covered, 3).chosen == (1, 0)


def test_greed_would_choose_otherwise():
    """The widest discovery is no part of the best pair."""
    covered = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 0]], dtype=bool)
    assert set(best_selection(covered, 2).chosen) == {0, 1}
    with pytest.raises(InvalidInputError, match="k must"):
        best_selection(covered, 0)
