"""µops that no experiment can show."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.mapping import HiddenUops, PortMapping, hidden_in, hidden_kinds, uops_of
from inference.core.throughput import inverse_throughput
from tests.core.strategies import experiments, mappings

PORTS = ("0", "1", "2", "3", "4", "5")
ALUS, LOADS, STORE, TWO = 0b001111, 0b110000, 0b010000, 0b000011


def core(**usage: object) -> PortMapping:
    return PortMapping(PORTS, usage, issue_width=4.0)  # type: ignore[arg-type]


@given(mappings(st.integers(1, 6)), experiments())
def test_hidden_uops_can_be_left_out_or_put_onto_all_ports(mapping: PortMapping, asked: Experiment) -> None:
    hidden = hidden_kinds(mapping)
    everywhere = (1 << len(mapping.ports)) - 1
    without = {s: tuple(uop for uop in uops if uop[0] not in hidden) for s, uops in mapping.usage.items()}
    wider = {
        s: uops_of((everywhere if mask in hidden else mask, count) for mask, count in uops)
        for s, uops in mapping.usage.items()
    }
    for usage in (without, wider):
        assert inverse_throughput(replace(mapping, usage=usage), asked) == inverse_throughput(mapping, asked)


def test_a_uop_on_as_many_ports_as_there_are_slots_is_hidden() -> None:
    mapping = core(add=((ALUS, 1),), load=((LOADS, 1),), store=((STORE, 1),))
    assert hidden_kinds(mapping) == {ALUS}
    assert str(hidden_in(mapping, "add", {ALUS})) == "1 µop on 4 or more ports"
    assert hidden_in(mapping, "load", {ALUS}) is None


def test_r_max_hides_as_slots_do() -> None:
    mapping = replace(core(add=((ALUS, 1),), load=((LOADS, 1),)), issue_width=None, r_max=4.0)
    assert hidden_kinds(mapping) == {ALUS}
    assert hidden_kinds(replace(mapping, r_max=4.5)) == frozenset()
    assert hidden_kinds(replace(mapping, r_max=None)) == frozenset()


def test_narrower_uops_among_the_same_ports_bring_it_to_light() -> None:
    """Five µops of one slot keep the four ports busy for longer than the slot does."""
    mapping = core(add=((ALUS, 1),), odd=((TWO, 4), (ALUS, 1)))
    assert hidden_kinds(mapping) == frozenset()


def test_a_scheme_without_uops_may_have_as_many_as_slots() -> None:
    mapping = replace(core(nop=(), div=((STORE, 4),)), slots={"nop": 2})
    assert hidden_in(mapping, "nop", frozenset()) == HiddenUops(2, 4, listed=False)
    assert str(hidden_in(mapping, "nop", frozenset())) == "2 µops on 4 or more ports, or none"
    assert hidden_in(mapping, "div", frozenset()) is None


@pytest.mark.parametrize("kinds", [13, 20])
def test_microcode_of_many_kinds_is_taken_to_show_all(kinds: int) -> None:
    uops = uops_of((1 << port, 1) for port in range(kinds))
    mapping = PortMapping(tuple(map(str, range(20))), {"all": uops, "one": (((1 << 20) - 1, 1),)}, r_max=4.0)
    assert hidden_kinds(mapping) == frozenset()
