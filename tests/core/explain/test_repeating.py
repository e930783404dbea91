"""Witnesses measured another time."""

from __future__ import annotations

import pytest

from inference.core.explain import Seen
from inference.core.explain.repeating import measured_again
from tests.explained import ADD, ALU, IMUL, witness


@pytest.mark.parametrize(
    ("cycles", "seen", "uops", "agrees"),
    [
        (5.5, Seen.USES, 1, True),
        (5.6, Seen.USES, 1, True),
        (6.0, Seen.USES, 2, False),
        (5.02, Seen.EVADES, 0, False),
        (5.25, Seen.ODD, 0, False),
        (4.4, Seen.ODD, -1, False),
    ],
)
def test_the_same_whole_number_is_the_same_verdict(cycles, seen, uops, agrees):
    found = measured_again(witness(ADD, ALU, 1.0), 5.0, cycles)
    assert (found.seen, found.uops, found.agrees) == (seen, uops, agrees)


def test_what_was_found_on_subsets_is_taken_away():
    found = measured_again(witness(IMUL, ALU, 1.0, below=1), 5.0, 5.5)
    assert (found.seen, found.uops, found.agrees) == (Seen.EVADES, 0, True)


def test_what_could_not_be_seen_cannot_be_seen_now():
    found = measured_again(witness(ADD, ALU, 0.0, seen=Seen.UNDECIDED), 5.0, 5.5)
    assert (found.seen, found.agrees) == (Seen.UNDECIDED, True)


def test_odd_twice_is_the_same_verdict():
    assert measured_again(witness(ADD, ALU, 1.48, seen=Seen.ODD), 5.0, 5.76).agrees
