"""Two mappings side by side, scheme by scheme."""

from __future__ import annotations

import math
from dataclasses import replace

from inference.core.identity import SchemeRelation, compare
from tests.core.identity.small import mapping, permuted


def test_every_scheme_of_either_mapping_is_compared_under_the_names_of_the_first() -> None:
    first = mapping({"a": "01", "b": "2", "c": "0 + 0", "here": "1"})
    second = permuted(mapping({"a": "01", "b": "2", "c": "0", "there": "2"}), (2, 1, 0))
    found = {each.scheme: each for each in compare(first, second).schemes}
    assert {scheme: each.kind for scheme, each in found.items()} == {
        "a": SchemeRelation.EQUAL,
        "b": SchemeRelation.EQUAL,
        "c": SchemeRelation.DIFFERENT,
        "here": SchemeRelation.ONLY_FIRST,
        "there": SchemeRelation.ONLY_SECOND,
    }
    assert found["b"].uops[0] == found["b"].uops[1] == ((4, 1),)
    assert (found["c"].cycles, found["c"].difference, found["c"].factor) == ((2.0, 1.0), -50.0, 2.0)
    assert (found["here"].cycles, found["here"].difference) == ((1.0, None), None)
    assert found["there"].uops == (None, ((4, 1),))


def test_the_largest_difference_is_a_factor_whichever_is_slower() -> None:
    first, second = mapping({"a": "0", "b": "01 + 01"}), mapping({"a": "0 + 0", "b": "0 + 0 + 0"})
    largest = compare(first, second).largest
    assert largest is not None
    assert (largest.scheme, largest.factor) == ("b", 3.0)
    assert compare(second, first).largest is not None
    assert compare(first, first).largest is None


def test_against_no_time_at_all_a_difference_is_infinite() -> None:
    largest = compare(mapping({"a": ""}), mapping({"a": "0"})).largest
    assert largest is not None
    assert (largest.difference, largest.factor) == (math.inf, math.inf)


def test_mappings_that_differ_in_r_max_alone_are_not_equal() -> None:
    value = mapping({"a": "0"})
    assert compare(value, value).are_equal
    assert not compare(value, mapping({"a": "0"}, r_max=2.0)).are_equal


def test_a_difference_below_the_noise_is_told_as_such() -> None:
    wide, wider = mapping({"a": "0123456"}, ports=8), mapping({"a": "01234567"})
    comparison = compare(wide, wider)
    assert comparison.distinction is not None
    assert comparison.noise == 0.0
    assert compare(mapping({"a": "0"}), mapping({"a": "0 + 0"})).noise > 0


def test_what_differs_in_hidden_uops_alone_is_told() -> None:
    first = replace(mapping({"a": "012", "b": "0", "c": "1"}), issue_width=3.0)
    second = replace(mapping({"a": "", "b": "0", "c": "1 + 1"}), issue_width=3.0)
    found = {each.scheme: each for each in compare(first, second).schemes}
    assert [found[scheme].kind for scheme in "abc"] == [
        SchemeRelation.DIFFERENT,
        SchemeRelation.EQUAL,
        SchemeRelation.DIFFERENT,
    ]
    assert [found[scheme].differs_in_hidden for scheme in "abc"] == [True, False, False]
