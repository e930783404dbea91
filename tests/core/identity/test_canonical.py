"""The canonical form is the same for every renaming of ports, and for nothing else."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.identity import canonical, same_up_to_renaming
from inference.core.mapping import PortMapping
from tests.core.identity.small import edited, mapping, permuted, renamings, shuffled, three_level, two_level
from tests.core.strategies import mappings
from tests.drawn import examples


@examples(50)
@given(value=mappings(st.integers(1, 12)), data=st.data())
def test_the_form_does_not_depend_on_the_names_of_ports(value: PortMapping, data: st.DataObject) -> None:
    other = permuted(value, data.draw(st.permutations(range(len(value.ports)))))
    assert canonical(other) == canonical(value)
    assert same_up_to_renaming(value, other)


@examples(40)
@given(value=mappings(st.integers(1, 12)))
def test_the_form_is_a_renaming_of_the_mapping_and_its_own_form(value: PortMapping) -> None:
    form = canonical(value)
    assert form.ports == tuple(str(k) for k in range(len(value.ports)))
    assert form.r_max == value.r_max
    assert list(form.usage) == sorted(value.usage)
    assert form.volume == value.volume
    assert canonical(form) == form


def are_renamings(a: PortMapping, b: PortMapping) -> bool:
    return any(permuted(a, order).usage == b.usage for order in renamings(len(a.ports)))


@examples(50)
@given(data=st.data())
def test_forms_are_equal_exactly_for_renamings(data: st.DataObject) -> None:
    ports = st.integers(2, 5)
    first = data.draw(st.one_of(two_level(ports), three_level(ports, schemes="ab")))
    second = edited(data.draw, first)
    assert (canonical(first) == canonical(second)) == are_renamings(first, second)
    assert same_up_to_renaming(first, second) == are_renamings(first, second)


def edges(*pairs: str) -> PortMapping:
    """One scheme whose µops are the edges of a graph on the ports."""
    return mapping({"a": "+".join(pairs)})


@examples(70)
@given(data=st.data())
def test_graphs_of_alike_ports_are_told_apart(data: st.DataObject) -> None:
    """Every µop serves the same scheme and is as wide as every other: refinement alone is not enough."""
    pairs = st.sampled_from([1 << i | 1 << j for i in range(5) for j in range(i)])
    graphs = [
        PortMapping(tuple("01234"), {"a": tuple((mask, 1) for mask in sorted(chosen))})
        for chosen in data.draw(st.tuples(*[st.sets(pairs, min_size=3, max_size=7)] * 2))
    ]
    assert same_up_to_renaming(*graphs) == are_renamings(*graphs)


def test_two_triangles_are_no_hexagon() -> None:
    triangles, hexagon = edges("01", "12", "02", "34", "45", "35"), edges("01", "12", "23", "34", "45", "05")
    assert not same_up_to_renaming(triangles, hexagon)
    assert same_up_to_renaming(triangles, edges("02", "24", "04", "13", "35", "15"))


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (mapping({"a": "01", "b": "1"}, ports=3), "a port more, though nothing uses it"),
        (mapping({"a": "01", "b": "1"}, r_max=4.0), "another R_max"),
        (mapping({"a": "01", "c": "1"}), "another scheme"),
        (mapping({"a": "01", "b": "1", "c": ""}), "a scheme more"),
        (mapping({"a": "01", "b": "1 + 1"}), "another count"),
        (mapping({"a": "01", "b": "01"}), "another port set"),
    ],
)
def test_what_is_no_renaming(other: PortMapping, why: str) -> None:
    value = mapping({"a": "01", "b": "1"})
    assert not same_up_to_renaming(value, other), why
    assert canonical(value) != canonical(other), why


SYMMETRIC = {
    "12 equal ports": mapping({"a": "0123456789ab"}),
    "24 ports that nothing uses": mapping({"a": "0"}, ports=24),
    "24 ports with one µop each": mapping({"a": "+".join("0123456789abcdefghijklmn")}),
    "12 pairs": edges("01", "23", "45", "67", "89", "ab", "cd", "ef", "gh", "ij", "kl", "mn"),
    "a ring of 24": edges(
        *(
            f"{one}{two}"
            for one, two in zip("0123456789abcdefghijklmn", "123456789abcdefghijklmn0", strict=True)
        )
    ),
    "rows and columns": mapping(
        {"a": "0123 + 4567 + 89ab + cdef + ghij + klmn + 048cgk + 159dhl + 26aeim + 37bfjn"}
    ),
    "the graph of Petersen": edges(
        "01", "12", "23", "34", "04", "57", "79", "69", "68", "58", "05", "16", "27", "38", "49"
    ),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_mappings_take_no_exponential_time(name: str) -> None:
    value = SYMMETRIC[name]
    start = time.process_time()
    assert same_up_to_renaming(value, shuffled(value, seed=7))
    assert (
        time.process_time() - start < 5
    )  # a search of all renamings would take longer than the universe is old


def test_a_large_mapping_of_a_processor_is_quick() -> None:
    chance = random.Random(1)
    kinds = [chance.randrange(1, 1 << 12) for _ in range(100)]
    uops = [tuple(sorted({(chance.choice(kinds), 1), (chance.choice(kinds), 1)})) for _ in range(2000)]
    value = PortMapping(
        tuple(f"p{k}" for k in range(12)),
        {f"scheme {k}": each if each[0][0] != each[-1][0] else each[:1] for k, each in enumerate(uops)},
    )
    start = time.process_time()
    assert same_up_to_renaming(value, shuffled(value))
    assert time.process_time() - start < 5
