"""Two units that share some ports are tried without, where a third has room for both."""

from __future__ import annotations

from inference.core.pmevo.refit.disjoint import with_disjoint_units
from inference.core.pmevo.refit.usage import Usage


def usage(*masks: int) -> Usage:
    made = Usage.empty(len(masks))
    for scheme, mask in enumerate(masks):
        made.put(scheme, [(mask, 1)])
    return made


def masks(of: Usage) -> list[int]:
    return [of.row(scheme)[0][0] for scheme in range(len(of.sizes))]


def test_the_unit_with_fewer_schemes_moves() -> None:
    found = [masks(each) for each in with_disjoint_units(usage(0b111111, 0b000111, 0b000111, 0b011100))]
    assert found == [[0b111111, 0b000111, 0b000111, 0b111000]]


def test_every_pair_is_a_mapping_of_its_own() -> None:
    assert len(list(with_disjoint_units(usage(0b111111, 0b000011, 0b000110, 0b001100)))) == 2


def test_nothing_moves_without_room_or_into_another_unit() -> None:
    for kinds in ((0b11111, 0b00111, 0b11100), (0b111111, 0b000011, 0b000001), (0b0011, 0b0110)):
        assert not list(with_disjoint_units(usage(*kinds)))
