"""Conflicts of pairs from measurements, and the matrix that grows with them."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.pair_conflicts import PairConflicts, pair_conflicts
from inference.figures.conflicts import LEVELS, MAX_SCHEMES, growing_matrix


def measured(cycles: float, **counts: int) -> Measured:
    return Measured(Experiment.of(counts), cycles)


def shares(found: PairConflicts) -> dict[tuple[str, str], float]:
    pairs = [(found.schemes[first], found.schemes[second]) for first, second in found.pairs.tolist()]
    return dict(zip(pairs, found.shares.tolist(), strict=True))


ALONE = [measured(1.0, a=1), measured(0.5, b=1), measured(1.0, c=1)]


def test_what_comes_on_top_of_the_slower_one_is_the_conflict() -> None:
    found = pair_conflicts(
        [*ALONE, measured(1.5, a=1, b=1), measured(1.0, b=1, c=1), measured(1.25, a=1, c=1)]
    )
    assert (found.schemes, found.alone.tolist()) == (["a", "b", "c"], [1.0, 0.5, 1.0])
    assert shares(found) == {("a", "b"): 1.0, ("b", "c"): 0.0, ("a", "c"): pytest.approx(0.25)}


def test_unusable_results_and_other_experiments_are_no_pairs() -> None:
    failed = Measured(Experiment.of({"a": 1, "b": 1}), None, state=MeasurementState.FAILED)
    found = pair_conflicts(
        [*ALONE, failed, measured(2.0, a=2), measured(9.0, a=2, b=1), measured(1.0, a=1, z=1)]
    )
    assert not len(found.pairs)
    quick = pair_conflicts([measured(0.9, a=1), measured(1.0, b=1), measured(0.8, a=1, b=1)])
    assert shares(quick) == {("a", "b"): 0.0}


def test_the_matrix_grows_with_what_is_measured() -> None:
    assert growing_matrix(pair_conflicts([])) is None
    first = growing_matrix(pair_conflicts(ALONE))
    assert first is not None
    assert (first.schemes, first.pairs, first.squares) == (3, 0, ())
    later = growing_matrix(pair_conflicts([*ALONE, measured(1.5, a=1, b=1), measured(1.0, b=1, c=1)]))
    assert later is not None
    assert (later.pairs, later.competing, len(later.squares)) == (2, 1, 4)
    assert {square.level for square in later.squares} == {0, LEVELS}
    many = growing_matrix(pair_conflicts(measured(1.0, **{f"s{number}": 1}) for number in range(100)))
    assert many is not None
    assert (many.schemes, many.n_rows) == (100, MAX_SCHEMES)
