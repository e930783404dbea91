"""The ambiguity of a result: listed once each, and put down to the schemes that cause it."""

from __future__ import annotations

from inference.core.cegar.alternatives import Alternatives, match_ports
from inference.core.identity import same_up_to_renaming
from inference.core.mapping import PortMapping


def mapping(**ports: int) -> PortMapping:
    return PortMapping(tuple("012345"), {scheme: ((mask, 1),) for scheme, mask in ports.items()})


RESULT = mapping(add=0b111000, load=0b000011, store=0b000010, shift=0b000100)
ADD_ON_SHIFT = mapping(add=0b011100, load=0b000011, store=0b000010, shift=0b000100)
ADD_ON_LOAD = mapping(add=0b011001, load=0b000011, store=0b000010, shift=0b000100)
"""By itself as well a load on a port of add."""


def test_alternatives_blame_no_scheme_that_another_one_explains() -> None:
    found = list(match_ports(RESULT, [ADD_ON_SHIFT, ADD_ON_LOAD], lambda: None))
    assert [differing for _, differing in found] == [("add",), ("add",)]
    for (named, _), other in zip(found, [ADD_ON_SHIFT, ADD_ON_LOAD], strict=True):
        assert same_up_to_renaming(named, other)


def test_each_alternative_is_listed_once_and_never_more_than_wanted() -> None:
    found = Alternatives(RESULT, 1)
    renamed = mapping(add=0b000111, load=0b110000, store=0b010000, shift=0b001000)
    for other in (RESULT, renamed, ADD_ON_SHIFT, ADD_ON_SHIFT):
        found.add(other)
    assert (len(found.listed), found.full) == (1, False)
    found.add(ADD_ON_LOAD)
    assert (len(found.listed), found.full) == (1, True)
