"""The best renaming of ports, and the agreement under it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.identity import Renaming, best_renaming, structural_agreement
from inference.core.mapping import PortMapping
from tests.core.identity.small import edited, mapping, permuted, renamings, shuffled, three_level, two_level
from tests.core.strategies import mappings
from tests.drawn import examples


@examples(40)
@given(value=mappings(st.integers(1, 12)), data=st.data())
def test_shuffled_ports_get_names_that_make_the_mappings_equal(
    value: PortMapping, data: st.DataObject
) -> None:
    other = permuted(value, data.draw(st.permutations(range(len(value.ports)))))
    renaming = best_renaming(value, other)
    assert renaming.exact
    assert renaming.apply(other) == value


def agreeing(a: PortMapping, b: PortMapping) -> int:
    return sum(a.usage[scheme] == b.usage[scheme] for scheme in a.usage.keys() & b.usage.keys())


def padded(value: PortMapping, n_ports: int) -> PortMapping:
    return PortMapping(tuple(f"p{k}" for k in range(n_ports)), value.usage)


@examples(50)
@given(data=st.data())
def test_no_renaming_has_more_equal_schemes(data: st.DataObject) -> None:
    first = data.draw(two_level(st.integers(1, 5)) | three_level(st.integers(1, 5), "abcd"))
    if data.draw(st.booleans()):
        second = edited(data.draw, first)
    else:
        second = data.draw(three_level(st.integers(1, 5), "abcd"))
    renaming = best_renaming(first, second)
    n_ports = max(len(first.ports), len(second.ports))
    wide = padded(second, n_ports)
    most = max(agreeing(first, permuted(wide, order)) for order in renamings(n_ports))
    assert renaming.exact
    assert agreeing(first, renaming.apply(second)) == most


@examples(40)
@given(first=two_level(st.integers(1, 6)), second=two_level(st.integers(1, 6)))
def test_every_port_that_can_have_a_partner_has_one(first: PortMapping, second: PortMapping) -> None:
    partners = [port for port in best_renaming(first, second).ports if port is not None]
    assert len(set(partners)) == len(partners) == min(len(first.ports), len(second.ports))
    assert set(partners) <= set(range(len(first.ports)))


def test_ports_that_the_other_lacks_keep_their_names() -> None:
    first = mapping({"a": "0", "b": "1"})
    second = PortMapping(("x", "p0", "y"), {"a": ((2, 1),), "b": ((4, 1),), "c": ((1, 1),)})
    renaming = best_renaming(first, second)
    assert renaming == Renaming((None, 0, 1), ("p0", "p1"), exact=True)
    assert renaming.apply(second) == PortMapping(
        ("p0", "p1", "x"), {"a": ((1, 1),), "b": ((2, 1),), "c": ((4, 1),)}
    )
    clashing = PortMapping(("p1", "x", "y"), {"a": ((2, 1),), "b": ((4, 1),), "c": ((1, 1),)})
    assert best_renaming(first, clashing).apply(clashing).ports == ("p0", "p1", "p1′")


def test_ports_that_are_used_alike_keep_their_names() -> None:
    value = PortMapping(("x", "y", "z"), {"a": ((7, 1),)})
    other = PortMapping(("z", "x", "y"), {"a": ((7, 1),)})
    assert best_renaming(value, other).ports == (2, 0, 1)


def test_the_renaming_is_found_where_work_alone_misleads() -> None:
    """Most of the work looks as if ports 0 and 1 had kept their names, most schemes say that they did not."""
    usage = {"a": "0", "b": "1", "c": "0", **{f"x{k}": "0" for k in range(4)}}
    first = mapping({**usage, **{f"x{k}": "0" for k in range(4)}})
    second = mapping({"a": "1", "b": "0", "c": "1", **{f"x{k}": "0 + 0 + 01" for k in range(4)}})
    agreement = structural_agreement(first, second)
    assert agreement.renaming.ports == (1, 0)
    assert agreement.agreeing == ("a", "b", "c")


def test_the_agreement_lists_every_scheme_once() -> None:
    first = mapping({"a": "01", "b": "0", "c": "0 + 1", "d": "1", "only": "0"})
    second = shuffled(mapping({"a": "01", "b": "0", "c": "01 + 01", "d": "1", "other": "1"}), seed=1)
    agreement = structural_agreement(first, second)
    assert agreement.agreeing == ("a", "b", "d")
    assert agreement.differing == ("c",)
    assert agreement.only_first == ("only",)
    assert agreement.only_second == ("other",)
    assert agreement.share == 0.75


def test_mappings_without_a_common_scheme_have_no_agreement() -> None:
    assert structural_agreement(mapping({"a": "0"}), mapping({"b": "0"})).share is None


def test_a_proof_that_is_given_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inference.core.identity.renaming.MAX_PROOF_STEPS", 1)
    first = mapping({"a": "01", "b": "12", "c": "0", "d": "0 + 2"})
    second = mapping({"a": "01", "b": "01", "c": "2", "d": "12 + 2"})
    assert not best_renaming(first, second).exact
    assert best_renaming(first, shuffled(first)).exact
