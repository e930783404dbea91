"""Parts of a core get ports of their own where nothing shows that they share them."""

from __future__ import annotations

from collections.abc import Callable

from inference.core.pmevo.refit.separate_ports import own_ports, prefer_apart, without_unused_ports
from inference.core.pmevo.refit.usage import Usage

DOMAINS = ["integer", "integer", "memory", None]
"""Of `add`, `mul`, `load` and `store`."""


def usage(add: int, mul: int, load: int, store: int) -> Usage:
    made = Usage.empty(len(DOMAINS))
    for scheme, mask in enumerate((add, mul, load, store)):
        made.set_row(scheme, [(mask, 1)])
    return made


SHARING = usage(0b00111, 0b00001, 0b01100, 0b01000)


def apart(value: Callable[[Usage, int], float]) -> tuple[Usage, int]:
    return prefer_apart(SHARING, 5, DOMAINS, value, max_price=0.0, most_alone=0.0, most_ports=16)


def masks(of: Usage) -> list[int]:
    return [of.row(scheme)[0][0] for scheme in range(len(of.sizes))]


def test_what_measurements_cannot_tell_apart_is_apart() -> None:
    split, n_ports = apart(lambda changed, ports: 0.0)
    add, mul, load, store = masks(split)
    assert n_ports == 6  # three that compute, two that load, one that stores
    assert not add & load
    assert not store & (add | load)
    assert mul & ~add == 0
    assert [mask.bit_count() for mask in (add, mul, load, store)] == [3, 1, 2, 1]


def test_what_measurements_show_to_share_ports_does() -> None:
    def shared(changed: Usage, ports: int) -> float:
        add, _, load, store = masks(changed)
        return float((not add & load) + (not load & store))

    assert masks(apart(shared)[0]) == masks(without_unused_ports(SHARING)[0])


def test_ports_without_use_are_no_ports() -> None:
    numbered, n_ports = without_unused_ports(usage(0b1100000, 0b100000, 0b1, 0b1))
    assert n_ports == 3
    assert masks(numbered) == [0b110, 0b010, 0b001, 0b001]


def test_schemes_keep_off_ports_that_only_another_part_uses() -> None:
    allowed = own_ports(usage(0b00111, 0b00001, 0b01100, 0b10000), 6, DOMAINS)
    assert allowed.tolist() == [0b110111, 0b110111, 0b111100, 0b111111]
