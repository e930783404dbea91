"""Metrics agree with scipy, and say None where they are undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.core.errors import InvalidInputError
from inference.core.experiment import Unit
from inference.core.metrics import Scores, convert, score
from tests.drawn import examples

VALUES = st.floats(0.01, 1000)


@examples(120)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=40))
def test_metrics_are_those_of_scipy(pairs: list[tuple[float, float]]) -> None:
    measured, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    scores = score(measured, predicted)
    assert scores.n == len(pairs)
    assert scores.mape == pytest.approx(100 * sum(abs(p - m) / m for m, p in pairs) / len(pairs))
    if len(set(measured)) == 1 or len(set(predicted)) == 1:
        assert scores.pearson is None
    elif _vary(measured) and _vary(predicted):  # scipy says itself that it knows no better otherwise
        assert scores.pearson == pytest.approx(stats.pearsonr(measured, predicted)[0], abs=1e-6)
    rounded = np.round(measured, 2)
    if len(set(rounded)) > 1 and len(set(predicted)) > 1:
        assert scores.kendall == pytest.approx(stats.kendalltau(rounded, predicted)[0])
    else:
        assert scores.kendall is None


def _vary(values: np.ndarray) -> bool:
    """By more than rounding."""
    return bool(np.ptp(values) > 1e-6 * values.max())


def test_values_that_differ_by_their_last_bit_alone_are_correlated_all_the_same() -> None:
    nearly = np.nextafter(0.01, 1)
    assert score([nearly, 0.01], [1, 2]).pearson == pytest.approx(-1)
    assert score([0.01, nearly, 0.01, nearly], [5, 6, 5, 6]).pearson == pytest.approx(1)


def test_the_denominator_is_the_measurement() -> None:
    assert score([4.0], [2.0]).mape == 50
    assert score([2.0], [4.0]).mape == 100


def test_measurements_are_rounded_for_tau_only() -> None:
    scores = score([1.001, 1.002, 3], [2, 1, 3])
    assert scores.kendall == pytest.approx(stats.kendalltau([1, 1, 3], [2, 1, 3])[0])
    assert score([1.001, 1.002], [2, 1]).kendall is None
    assert score([1.001, 1.002], [2, 1]).pearson == pytest.approx(-1)


@pytest.mark.parametrize(
    ("measured", "predicted", "expected"),
    [
        ([], [], Scores(0, None, None, None)),
        ([2.0], [1.0], Scores(1, 50.0, None, None)),
        ([0.1, 0.1, 0.1], [0.1, 0.2, 0.3], Scores(3, pytest.approx(100), None, None)),
        ([1.0, 2.0], [0.3, 0.3], Scores(2, pytest.approx(77.5), None, None)),
        ([1.0, 2.0], [3.0, math.inf], Scores(2, None, None, pytest.approx(1))),
    ],
)
def test_what_is_undefined_is_none(measured: list[float], predicted: list[float], expected: Scores) -> None:
    assert score(measured, predicted) == expected


@pytest.mark.parametrize(
    ("measured", "predicted", "complaint"),
    [
        ([1.0, 2.0], [1.0], "equally long"),
        ([[1.0]], [[1.0]], "equally long"),
        ([1.0, 0.0], [1.0, 1.0], "measurement 1: 0.0"),
        ([1.0, math.inf], [1.0, 1.0], "measurement 1: inf"),
        ([1.0, 2.0], [math.nan, 1.0], "prediction 0: nan"),
        ([1.0, 2.0], [1.0, -1.0], "prediction 1: -1.0"),
    ],
)
def test_numbers_that_cannot_be_are_refused(
    measured: list[float], predicted: list[float], complaint: str
) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        score(measured, predicted)


def test_points_far_from_zero_correlate_as_they_do_near_it() -> None:
    rng = np.random.default_rng(1)
    near = rng.normal(size=(2, 20_000))
    near[1] += near[0]
    assert score(*(near + 1e6)).pearson == pytest.approx(np.corrcoef(near)[0, 1], abs=1e-9)


def test_units_convert_with_the_length() -> None:
    assert convert([2, 6], [4, 3], Unit.CYCLES).tolist() == [2, 6]
    assert convert([2, 6], [4, 3], "cpi").tolist() == [0.5, 2]
    assert convert([2, 6, 0], [4, 3, 1], Unit.IPC).tolist() == [2, 0.5, math.inf]


def test_an_unknown_unit_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match="cycles, cpi, ipc"):
        convert([1], [1], "seconds")


def test_lengths_must_fit_the_cycles() -> None:
    with pytest.raises(InvalidInputError, match="need lengths"):
        convert([1, 2], [1], Unit.CPI)
    with pytest.raises(InvalidInputError, match="is not a whole number ≥ 1"):
        convert([1], [0], Unit.CPI)
