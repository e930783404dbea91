"""Schemes against each other, clustered by how much they hinder each other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.pair_conflicts import ConflictMatrix, PairConflicts, conflict_matrix, pair_conflicts
from inference.core.throughput import inverse_throughput
from tests.drawn import examples

KINDS = (((0b0001, 1),), ((0b0010, 1),), ((0b1100, 1),))


def measured(mapping: PortMapping, left_out: frozenset[tuple[str, str]] = frozenset()) -> PairConflicts:
    def cycles(*schemes: str) -> float:
        return inverse_throughput(mapping, Experiment.of(list(schemes)))

    pairs = [pair for pair in combinations(sorted(mapping.usage), 2) if pair not in left_out]
    return measured_as(
        {scheme: cycles(scheme) for scheme in mapping.usage}, {pair: cycles(*pair) for pair in pairs}
    )


def measured_as(alone: dict[str, float], together: dict[tuple[str, str], float]) -> PairConflicts:
    times = {(scheme,): cycles for scheme, cycles in alone.items()} | together
    return pair_conflicts(Measured(Experiment.of(list(schemes)), cycles) for schemes, cycles in times.items())


def as_sets(matrix: ConflictMatrix) -> set[frozenset[str]]:
    return {frozenset(members) for members in matrix.classes}


@examples(30)
@given(st.lists(st.sampled_from(range(3)), min_size=4, max_size=14))
def test_schemes_on_the_same_ports_are_one_class(kinds: list[int]) -> None:
    usage = {f"s{number:02}": KINDS[kind] for number, kind in enumerate(kinds)}
    matrix = conflict_matrix(measured(PortMapping(tuple("0123"), usage)), 100)
    expected = {frozenset(one for one in usage if usage[one] == kind) for kind in KINDS} - {frozenset()}
    assert as_sets(matrix) == expected
    assert sorted(matrix.schemes) == sorted(usage)
    assert np.array_equal(matrix.shares, matrix.shares.T, equal_nan=True)
    between = matrix.between_classes()
    for row in range(len(between)):
        for column in range(len(between)):
            if row != column:
                assert between[row, column] == 0
            elif len(matrix.classes[row]) > 1:
                assert between[row, row] == 1
            else:
                assert np.isnan(between[row, row])


def test_two_that_were_never_paired_are_as_near_as_they_hinder_the_same_others() -> None:
    usage = {name: KINDS[number % 2] for number, name in enumerate("abcdefgh")}
    matrix = conflict_matrix(
        measured(PortMapping(tuple("0123"), usage), frozenset({("a", "c"), ("a", "b")})), 9
    )
    assert as_sets(matrix) == {frozenset("aceg"), frozenset("bdfh")}
    place = {scheme: number for number, scheme in enumerate(matrix.schemes)}
    assert np.isnan(matrix.shares[place["a"], place["c"]])
    assert matrix.shares[place["a"], place["e"]] == 1


def test_schemes_in_most_pairs_are_drawn() -> None:
    conflicts = measured_as(dict.fromkeys("abcd", 1.0), {("a", "b"): 2.0, ("a", "c"): 1.0, ("b", "c"): 1.0})
    assert sorted(conflict_matrix(conflicts, 10).schemes) == ["a", "b", "c"]
    assert sorted(conflict_matrix(conflicts, 2).schemes) == ["a", "b"]
    assert conflict_matrix(measured_as({"a": 1.0}, {}), 10).schemes == ()


@pytest.mark.parametrize("known", [0.2, 0.6])
def test_classes_are_found_where_most_pairs_were_not_measured(known: float) -> None:
    usage = {f"s{number:03}": KINDS[number % 3] for number in range(60)}
    pairs = list(combinations(sorted(usage), 2))
    drawn = np.random.default_rng(1).random(len(pairs)) >= known
    left_out = frozenset(pair for pair, out in zip(pairs, drawn, strict=True) if out)
    matrix = conflict_matrix(measured(PortMapping(tuple("0123"), usage), left_out), 100)
    for members in matrix.classes:
        assert len({usage[scheme] for scheme in members}) == 1
