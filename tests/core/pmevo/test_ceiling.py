"""R_max as the measurements show it."""

from __future__ import annotations

import itertools

import pytest

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pmevo.plan import ceiling_of
from inference.core.throughput import inverse_throughput

USAGE = {f"i{k}": ((0b1111 if k % 2 else 0b110000, 1),) for k in range(12)}


def times(r_max: float | None) -> dict[Experiment, float]:
    mapping = PortMapping(tuple("012345"), USAGE, r_max)
    schemes = sorted(USAGE)
    experiments = [Experiment.of([*pair]) for n in (1, 2, 3) for pair in itertools.combinations(schemes, n)]
    return {e: inverse_throughput(mapping, e) for e in experiments}


def test_a_rate_that_many_mixes_reach_and_none_exceeds_is_r_max() -> None:
    assert ceiling_of(times(3.5)) == pytest.approx(3.5)


def test_rates_of_all_sizes_are_no_ceiling() -> None:
    experiments = list(times(None))
    assert (
        ceiling_of({e: e.length / (1 + 3 * k / len(experiments)) for k, e in enumerate(experiments)}) is None
    )


def test_what_few_schemes_reach_is_no_ceiling() -> None:
    measured = {e: 1.5 * e.length for e in times(None)}
    measured |= {Experiment.of({"i0": n, "i1": 1}): (n + 1) / 4 for n in range(1, 60)}
    assert ceiling_of(measured) is None


def test_what_a_small_share_of_the_experiments_reaches_is_no_ceiling() -> None:
    experiments = list(times(None))[:250]
    there = {experiment: experiment.length / 4 for experiment in experiments[:25]}
    crowded = {experiment: experiment.length / 4 for experiment in experiments}
    few_schemes = {Experiment.of({f"s{k % 10}": 1 + k // 10}): 1.0 + k for k in range(1500)}
    assert ceiling_of(few_schemes | there) is None
    assert ceiling_of(few_schemes | crowded) == pytest.approx(4.0)


def test_nothing_measured_has_no_ceiling() -> None:
    assert ceiling_of({}) is None
