"""R_max as the measurements show it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from inference.core.bottleneck import Bottleneck
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from inference.core.pmevo import PMEvoProblem, PMEvoSettings
from inference.core.pmevo.observer import Observer, ceiling_of
from inference.core.throughput import inverse_throughput
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import Listener

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


def test_what_a_few_experiments_exceed_is_no_ceiling() -> None:
    crowded = times(3.5)
    quicker = [Experiment.of({"i0": 5, "i1": k}) for k in range(1, 4)]
    one_in_thirty = dict.fromkeys((*quicker, Experiment.of({"i0": 7, "i1": 1})), 1.0)
    assert ceiling_of(crowded | dict.fromkeys(quicker, 1.0)) == pytest.approx(3.5), "three are stray readings"
    assert ceiling_of(crowded | one_in_thirty) is None


def test_nothing_measured_has_no_ceiling() -> None:
    assert ceiling_of({}) is None


def test_a_rate_that_a_search_exceeds_is_no_ceiling() -> None:
    crowded = times(3.5)
    assert ceiling_of(crowded, Bottleneck(None, None, highest=4.9)) is None
    assert ceiling_of(crowded, Bottleneck(5.0, None, highest=4.9)) == 5.0
    assert ceiling_of(crowded, Bottleneck(None, None, highest=3.48)) == 3.48
    assert ceiling_of(crowded, Bottleneck(None, None, highest=2.0)) == pytest.approx(3.5)


def test_three_units_of_which_any_two_have_as_many_ports_have_no_ceiling_there() -> None:
    """Pairs of them pass at 6 per cycle, however many instructions the core passes."""
    usage = {f"{unit}{k}": ((0b111 << 3 * place, 1),) for place, unit in enumerate("abc") for k in range(6)}
    truth = PortMapping(tuple(map(str, range(9))), usage, 7.0)
    problem = PMEvoProblem(tuple(usage), PMEvoSettings(), domains={scheme: scheme[0] for scheme in usage})
    pace = PacedReporter(Listener())
    observer = Observer(SimulatedProcessor(truth, noise=0.005), pace, 0, np.empty(0), {}, lambda: None)
    assert observer.observe(problem).ceiling == 7.0
