"""Orders of discoveries, what they cover, and the best few of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anica_app.core.discovery_selection import best_selection, covered_blocks, share_covered
from anica_app.core.ranking import by_coverage, by_generality, by_interestingness
from anica_app.core.search.findings import FoundDiscovery
from inference.core.errors import InvalidInputError
from tests.anica.core.search.toy import ToyDomain, abstract_of
from tests.drawn import examples


def discovery(number, interestingness=1.0, generality=1, length=1):
    return FoundDiscovery(number, number, "difference", b"", b"", length, interestingness, generality)


def test_failures_rank_above_every_difference():
    listed = [discovery(0, 1.2), discovery(1, math.inf), discovery(2, 1.9), discovery(3, 1.2)]
    assert [one.number for one in by_interestingness(listed)] == [1, 2, 0, 3]


def test_the_more_general_comes_first_and_of_equals_the_shorter():
    listed = [discovery(0, generality=2, length=2), discovery(1, generality=9), discovery(2, generality=2)]
    assert [one.number for one in by_generality(listed)] == [1, 2, 0]


def test_blocks_are_covered_through_what_represents_them_rotation_and_others_in_between_included():
    domain = ToyDomain()
    discoveries = [abstract_of(domain, "a1", "b", aliasing=[(0, 1, "must")]), abstract_of(domain, "a2")]
    blocks = [("b1x", "a2y", "a1x"), ("b1x", "a1y"), ("a2x",), ("b2x",)]
    covered = covered_blocks(domain, discoveries, blocks)
    assert covered.tolist() == [[True, False, False, False], [True, False, True, False]]
    assert share_covered(covered) == 0.5
    assert share_covered(covered, [0]) == 0.25
    assert share_covered(covered[:, :0]) is None
    ranked = by_coverage([discovery(0), discovery(1)], covered)
    assert [(one.number, blocks) for one, blocks in ranked] == [(1, 2), (0, 1)]


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
