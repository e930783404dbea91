"""Errors by length and by scheme: means over the experiments concerned, in whatever parts they come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.metrics import Residuals
from inference.core.tables import ExperimentTable
from tests.drawn import examples

SCHEMES = ("a", "b", "c")
points = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(SCHEMES), st.integers(1, 4), min_size=1),
        st.floats(0.1, 50),
        st.floats(0, 80),
    ),
    max_size=12,
)


def residuals_of(parts: list[list[tuple[dict[str, int], float, float]]]) -> Residuals:
    found = Residuals()
    for part in parts:
        table = ExperimentTable.from_experiments(Experiment.of(counts) for counts, _, _ in part)
        measured = np.array([seen for _, seen, _ in part])
        predicted = np.array([said for _, _, said in part])
        found.add(table, np.arange(len(part)), measured, predicted)
    return found


@examples(60)
@given(points)
def test_means_are_those_of_the_experiments_concerned(seen) -> None:
    found = residuals_of([seen])
    errors = [((said - measured) / measured, counts) for counts, measured, said in seen]
    for each in found.by_length:
        alike = [abs(error) for error, counts in errors if sum(counts.values()) == each.length]
        assert each.n == len(alike)
        assert each.mape == pytest.approx(100 * np.mean(alike), rel=1e-9, abs=1e-4)
    assert sum(each.n for each in found.by_length) == len(seen)
    for each in found.by_scheme:
        with_it = [error for error, counts in errors if each.scheme in counts]
        assert each.n == len(with_it)
        assert each.signed == pytest.approx(100 * np.mean(with_it), rel=1e-9, abs=1e-4)
        assert each.absolute == pytest.approx(100 * np.mean(np.abs(with_it)), rel=1e-9, abs=1e-4)
    assert {each.scheme for each in found.by_scheme} == {scheme for _, counts in errors for scheme in counts}


@examples(40)
@given(points, st.integers(1, 5))
def test_parts_give_the_same_answer_to_the_last_digit(seen, size) -> None:
    whole, parts = residuals_of([seen]), residuals_of([seen[k : k + size] for k in range(0, len(seen), size)])
    assert whole.by_length == parts.by_length
    assert whole.by_scheme == parts.by_scheme


def test_the_worst_scheme_comes_first_and_only_the_chosen_experiments_count() -> None:
    table = ExperimentTable.from_experiments(
        [Experiment.of(["a"]), Experiment.of(["b"]), Experiment.of(["c"])]
    )
    found = Residuals()
    found.add(table, np.array([0, 2]), np.array([1.0, 2.0]), np.array([1.1, 1.0]))
    assert [(each.scheme, each.n, each.signed, each.absolute) for each in found.by_scheme] == [
        ("c", 1, -50.0, 50.0),
        ("a", 1, 10.0, 10.0),
    ]
    assert [(each.length, each.n) for each in found.by_length] == [(1, 2)]
