"""Witnesses measured another time."""

from __future__ import annotations

import pytest

from inference.core.explain import WitnessOutcome
from inference.core.explain.repeated_witness import repeat_witness
from tests.explained import ADD, ALU, IMUL, witness


@pytest.mark.parametrize(
    ("cycles", "seen", "uops", "agrees"),
    [
        (5.5, WitnessOutcome.USES, 1, True),
        (5.6, WitnessOutcome.USES, 1, True),
        (6.0, WitnessOutcome.USES, 2, False),
        (5.02, WitnessOutcome.EVADES, 0, False),
        (5.25, WitnessOutcome.ODD, 0, False),
        (4.4, WitnessOutcome.ODD, -1, False),
    ],
)
def test_the_same_whole_number_is_the_same_verdict(cycles, seen, uops, agrees):
    found = repeat_witness(witness(ADD, ALU, 1.0), 5.0, cycles)
    assert (found.outcome, found.uops, found.agrees) == (seen, uops, agrees)


def test_what_was_found_on_subsets_is_taken_away():
    found = repeat_witness(witness(IMUL, ALU, 1.0, below=1), 5.0, 5.5)
    assert (found.outcome, found.uops, found.agrees) == (WitnessOutcome.EVADES, 0, True)


def test_what_could_not_be_seen_cannot_be_seen_now():
    found = repeat_witness(witness(ADD, ALU, 0.0, seen=WitnessOutcome.UNDECIDED), 5.0, 5.5)
    assert (found.outcome, found.agrees) == (WitnessOutcome.UNDECIDED, True)


def test_odd_twice_is_the_same_verdict():
    assert repeat_witness(witness(ADD, ALU, 1.48, seen=WitnessOutcome.ODD), 5.0, 5.76).agrees
