"""Floods that are over before all µops of a scheme could evade them."""

from __future__ import annotations

import pytest

from inference.core.explain import Characterisation
from inference.measuring.simulated import NOTHING, SimulatedProcessor
from tests.core.explain.small import explain, mapping_of

CORE = mapping_of(
    "012345",
    {
        **dict.fromkeys(("add", "sub", "and"), "0123"),
        **dict.fromkeys(("shl", "rol"), "012"),
        **dict.fromkeys(("load", "loadx"), "45"),
        "pack": " ".join(["0123"] * 8),
    },
)
"""Alone, `pack` takes 2 cycles; beside a flood of three of its four ports, 8."""


def packed(most_copies: int) -> Characterisation:
    result = explain(
        CORE, measurer=SimulatedProcessor(CORE, counters=NOTHING), counters=NOTHING, most_copies=most_copies
    )
    (found,) = (each for each in result.characterisations if each.scheme == "pack")
    return found


def test_floods_are_as_long_as_what_they_show_asks_for() -> None:
    found = packed(most_copies=100)
    assert [(mask.bit_count(), count) for mask, count in found.usage] == [(4, 8)]
    assert not found.doubts


@pytest.mark.parametrize("most_copies", [12, 23])
def test_what_a_flood_shows_that_cannot_be_long_enough_is_doubtful(most_copies: int) -> None:
    assert any("too few to block" in doubt for doubt in packed(most_copies).doubts)
