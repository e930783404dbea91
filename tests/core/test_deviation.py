"""Two models of a processor on the same random experiments."""

from __future__ import annotations

import numpy as np
import pytest

from inference.core.deviation import Sampling, deviation
from inference.core.errors import InvalidInputError
from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Unit
from inference.core.mapping import PortMapping
from inference.core.metrics import score
from inference.core.resources import ResourceMapping, from_port_mapping
from inference.core.sampling import random_mixes
from inference.core.throughput import inverse_throughput

ONE = PortMapping(("0", "1"), {"a": ((3, 1),), "b": ((1, 1),), "c": ((1, 2),)})
OTHER = PortMapping(("0", "1"), {"a": ((1, 1),), "b": ((2, 1),), "d": ((3, 1),)})
NO_RATES = (None, None)


def bare(mapping: PortMapping) -> PortMappingModel:
    return PortMappingModel(mapping)


def test_a_model_does_not_deviate_from_itself_however_it_is_written() -> None:
    found = deviation(bare(ONE), from_port_mapping(ONE), Sampling(experiments=50), NO_RATES)
    assert (found.scores.mape, found.backwards.mape, found.furthest, found.common) == (0.0, 0.0, None, 3)
    assert found.scores.kendall == 1.0
    assert found.scores.pearson == pytest.approx(1)


def test_the_numbers_are_those_of_the_experiments_over_common_schemes() -> None:
    sampling = Sampling(experiments=6, length=3, unit=Unit.CYCLES)
    found = deviation(bare(ONE), bare(OTHER), sampling, NO_RATES)
    mixes = random_mixes(["a", "b"], 6, 1, 3)
    first, second = ([inverse_throughput(m, mix) for mix in mixes] for m in (ONE, OTHER))
    assert found.points.reference.tolist() == first
    assert found.points.predicted.tolist() == second
    assert found.scores == score(first, second)
    assert found.backwards == score(second, first)
    assert found.furthest.experiment in mixes


@pytest.mark.parametrize(
    ("given", "own", "held_to"),
    [
        (None, (None, None), (None, None)),
        (None, (4.0, None), (4.0, 4.0)),
        (None, (None, 3.0), (3.0, 3.0)),
        (None, (4.0, 3.0), (4.0, 3.0)),
        (2.0, (4.0, None), (2.0, 2.0)),
    ],
)
def test_both_are_held_to_a_rate(
    given: float | None, own: tuple[float | None, float | None], held_to: tuple[float | None, float | None]
) -> None:
    found = deviation(bare(ONE), bare(OTHER), Sampling(experiments=20, r_max=given), own)
    assert found.r_max == held_to
    for said, rate in zip((found.points.reference, found.points.predicted), held_to, strict=True):
        assert rate is None or said.max() <= rate + 1e-12


def test_experiments_that_need_no_time_are_left_out_and_counted() -> None:
    idle = ResourceMapping(("R",), {"a": ((0, 1.0),), "b": ()})
    found = deviation(bare(ONE), idle, Sampling(experiments=50, length=1), NO_RATES)
    assert (found.scores.n, found.skipped) == (1, 1)
    assert np.isfinite(found.points.predicted).all()


def test_without_common_schemes_there_is_nothing_to_ask() -> None:
    found = deviation(bare(ONE), ResourceMapping(("R",), {"z": ()}), Sampling(), NO_RATES)
    assert (found.common, found.scores.n, found.scores.mape, found.furthest) == (0, 0, None, None)


@pytest.mark.parametrize(
    "wrong", [{"experiments": 0}, {"length": 0}, {"seed": -1}, {"r_max": 0.0}, {"experiments": 10**9}]
)
def test_what_cannot_be_asked_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInputError):
        Sampling(**wrong)


def test_random_mixes_are_distinct_and_stop_where_there_are_no_more() -> None:
    assert len(random_mixes(["a", "b"], 100, 1, 2)) == 3
    some = random_mixes(["a", "b", "c"], 5, 1, 4)
    assert some == random_mixes(["a", "b", "c"], 9, 1, 4)[:5]
    assert not set(some) & set(random_mixes(["a", "b", "c"], 5, 1, 4, without=some))
