"""Code of one length that many experiments crowd at bounds all code of that length, and no other."""

from __future__ import annotations

from inference.core.core_model.loop_code import code_bounds
from inference.core.experiment import Experiment

SCHEMES = [f"i{number}" for number in range(20)]
PAIRS = [Experiment.of([first, second]) for first in SCHEMES for second in SCHEMES if first < second]


def test_a_crowd_at_one_rate_bounds_code_of_its_length() -> None:
    measured = {pair: 0.30 + 0.001 * (number % 3) for number, pair in enumerate(PAIRS[:60])}
    sizes = dict.fromkeys(PAIRS[:60], 3.65) | dict.fromkeys(PAIRS[60:], 5.0)
    bounds = code_bounds(measured, sizes)
    assert set(bounds) == set(PAIRS[:60])
    assert all(0.299 <= bound <= 0.303 for bound in bounds.values())


def test_experiments_that_were_not_measured_have_the_bound_of_their_length() -> None:
    fresh = Experiment.of({"i0": 2, "i1": 2})
    bounds = code_bounds(dict.fromkeys(PAIRS[:60], 0.3), {**dict.fromkeys(PAIRS[:60], 3.65), fresh: 3.62})
    assert bounds[fresh] == 0.6


def test_rates_all_over_the_place_bound_nothing() -> None:
    measured = {pair: 0.3 * 1.1**number for number, pair in enumerate(PAIRS[:60])}
    assert not code_bounds(measured, dict.fromkeys(PAIRS[:60], 3.65))


def test_the_rate_of_a_few_schemes_is_that_of_their_ports() -> None:
    few = [Experiment.of({"i0": count, "i1": 1}) for count in range(2, 60)]
    measured = {mix: 0.2 * mix.length for mix in few} | dict.fromkeys(PAIRS, 1.0)
    sizes = dict.fromkeys(few, 3.65) | dict.fromkeys(PAIRS, 5.0)
    assert not set(few) & code_bounds(measured, sizes).keys()
