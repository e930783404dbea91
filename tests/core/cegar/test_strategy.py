"""Benchmarking strategies that miss something, and some that do not."""

from __future__ import annotations

import itertools

import pytest

from inference.core.cegar.strategy import blind_spot, singletons_and_pairs, with_blocking
from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput

BLOCKING = {
    "B1": ((0b010, 1),),
    "B01": ((0b011, 1),),
    "B02": ((0b101, 1),),
    "B12": ((0b110, 1),),
}
"""Appendix E.1."""


def test_six_blocking_instructions_are_too_few_for_the_processor_of_appendix_e1() -> None:
    strategy = with_blocking("I", BLOCKING, 6)
    found = blind_spot(strategy, ports=3, uops={"I": 6}, known_uops=BLOCKING)
    assert found is not None
    for experiment in strategy:
        assert inverse_throughput(found.first, experiment) == inverse_throughput(found.second, experiment)
    assert found.distinction.first != found.distinction.second


def test_the_wrong_conclusion_of_appendix_e1_is_one_that_six_blocking_instructions_allow() -> None:
    ports = ("0", "1", "2")
    true = PortMapping(ports, {**BLOCKING, "I": ((0b010, 1), (0b011, 1), (0b101, 4))})
    wrong = PortMapping(ports, {**BLOCKING, "I": ((0b010, 1), (0b101, 4), (0b110, 1))})
    for experiment in with_blocking("I", BLOCKING, 6):
        assert inverse_throughput(true, experiment) == inverse_throughput(wrong, experiment)
    enough = Experiment.of({"I": 1, "B12": 8})
    assert inverse_throughput(true, enough) < inverse_throughput(wrong, enough)


def mixes(*schemes: str) -> list[Experiment]:
    """All of up to four instructions."""
    return [
        Experiment.of(picked)
        for length in range(1, 5)
        for picked in itertools.combinations_with_replacement(schemes, length)
    ]


def test_pairs_do_not_show_what_three_schemes_share() -> None:
    strategy = [*mixes("a", "b"), *mixes("a", "c"), *mixes("b", "c")]
    found = blind_spot(strategy, ports=4, uops={"a": 1, "b": 1, "c": 1})
    assert found is not None
    assert len(found.distinction.experiment.schemes) == 3


def test_one_of_each_does_not_determine_two_schemes_and_more_of_each_does() -> None:
    uops = {"a": 1, "b": 1}
    assert blind_spot(singletons_and_pairs(("a", "b")), ports=3, uops=uops) is not None
    assert blind_spot(mixes("a", "b"), ports=3, uops=uops) is None


def test_mappings_that_nothing_tells_apart_are_no_blind_spot() -> None:
    assert blind_spot([Experiment.of(["a"])], ports=2, uops={"a": 2}) is None


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="too many"):
        blind_spot([Experiment.of(["a"])], ports=10, uops={"a": 4})
    with pytest.raises(UnknownSchemeError):
        blind_spot([Experiment.of(["b"])], ports=2, uops={"a": 1})
    with pytest.raises(InvalidInputError, match="on ports 0 to"):
        blind_spot([Experiment.of(["a"])], ports=2, uops={"a": 1}, known_uops={"b": ((0b100, 1),)})
