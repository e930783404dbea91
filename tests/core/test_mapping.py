"""Mappings as values: what is made of others."""

from __future__ import annotations

from inference.core.mapping import PortMapping, with_sums

LOAD, STORE = "load", "store"
MAPPING = PortMapping(
    ("0", "1"), {LOAD: ((0b11, 1),), STORE: ((0b01, 1), (0b11, 1))}, issue_width=4.0, slots={STORE: 2}
)


def test_a_sum_takes_the_uops_and_slots_of_its_parts() -> None:
    found = with_sums(MAPPING, {"copy": (LOAD, STORE)})
    assert found.usage["copy"] == ((0b01, 1), (0b11, 2))
    assert found.slots_of("copy") == 3
    assert found.restricted(MAPPING.usage) == MAPPING


def test_what_is_described_or_not_all_known_is_left_as_it_is() -> None:
    assert with_sums(MAPPING, {LOAD: (STORE,), "copy": (LOAD, "shuffle")}) == MAPPING
