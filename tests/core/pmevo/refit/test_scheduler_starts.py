"""Schedulers are looked for under mappings in which a second µop of one part of a core is doubted."""

from __future__ import annotations

from inference.core.pmevo.refit.scheduler_starts import (
    two_uop_schemes,
    with_disjoint_units,
    without_second_uops,
)
from inference.core.pmevo.refit.usage import Usage

DOMAINS = ["integer", "integer", "integer", "memory", None]
"""Of `add`, `mul`, `div`, `load` and `store`."""


def usage() -> Usage:
    made = Usage.empty(len(DOMAINS))
    made.set_row(0, [(0b00111, 1)])
    made.set_row(1, [(0b00011, 1), (0b00111, 1)])
    made.set_row(2, [(0b00001, 5)])
    made.set_row(3, [(0b01000, 1)])
    made.set_row(4, [(0b00111, 1), (0b10000, 1)])
    made.slots[1] = 2
    return made


def test_the_best_kind_in_use_stays_with_one_slot() -> None:
    found = without_second_uops(usage(), DOMAINS, lambda tried: abs(tried.row(1)[0][0] - 0b00011), keep=False)
    assert (found.row(1), found.slots[1]) == (((0b00011, 1),), 1)


def test_units_that_are_busy_for_long_and_schemes_for_several_parts_stay() -> None:
    found = without_second_uops(usage(), DOMAINS, lambda tried: 0.0, keep=False)
    assert [found.row(scheme) for scheme in (0, 2, 3, 4)] == [usage().row(scheme) for scheme in (0, 2, 3, 4)]


def test_two_uops_stay_where_they_are_best() -> None:
    found = without_second_uops(usage(), DOMAINS, lambda tried: -len(tried.row(1)), keep=True)
    assert found.row(1) == usage().row(1)
    assert two_uop_schemes(found, DOMAINS) == [1]


def shared_units(*masks: int) -> Usage:
    made = Usage.empty(len(masks))
    for scheme, mask in enumerate(masks):
        made.set_row(scheme, [(mask, 1)])
    return made


def masks(of: Usage) -> list[int]:
    return [of.row(scheme)[0][0] for scheme in range(len(of.sizes))]


def test_the_unit_with_fewer_schemes_moves() -> None:
    found = [
        masks(each) for each in with_disjoint_units(shared_units(0b111111, 0b000111, 0b000111, 0b011100))
    ]
    assert found == [[0b111111, 0b000111, 0b000111, 0b111000]]


def test_every_pair_is_a_mapping_of_its_own() -> None:
    assert len(list(with_disjoint_units(shared_units(0b111111, 0b000011, 0b000110, 0b001100)))) == 2


def test_nothing_moves_without_room_or_into_another_unit() -> None:
    for kinds in ((0b11111, 0b00111, 0b11100), (0b111111, 0b000011, 0b000001), (0b0011, 0b0110)):
        assert not list(with_disjoint_units(shared_units(*kinds)))
