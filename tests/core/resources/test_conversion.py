"""Converted port mappings predict what the port mappings do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of
from inference.core.resources import (
    MAX_LOADS,
    MAX_RESOURCES,
    Conversion,
    ResourceMapping,
    TooManyResourcesError,
    connected_unions,
    from_port_mapping,
)
from inference.core.tables import ExperimentTable
from inference.core.throughput import inverse_throughput, work_of
from tests.core.oracle import lp_inverse_throughput, over_ports
from tests.core.strategies import experiments, mappings, masks
from tests.drawn import examples

ENOUGH = Conversion(max_resources=MAX_RESOURCES)
FIG_7_1 = PortMapping(
    ("1", "2", "3"),
    {
        "mul": ((0b001, 2),),
        "add": ((0b011, 1),),
        "sub": ((0b011, 1),),
        "store": ((0b011, 1), (0b100, 1)),
    },
)


def test_the_example_of_the_thesis_is_converted_into_its_figure() -> None:
    assert from_port_mapping(FIG_7_1) == ResourceMapping(
        ("[1]", "[3]", "[1,2]"),
        {
            "mul": ((0, 2.0), (2, 1.0)),
            "add": ((2, 0.5),),
            "sub": ((2, 0.5),),
            "store": ((1, 1.0), (2, 0.5)),
        },
    )


@examples(30)
@given(mappings(st.integers(1, 10)), st.lists(experiments(), min_size=1, max_size=5))
def test_a_converted_mapping_predicts_the_same(mapping: PortMapping, several: list[Experiment]) -> None:
    converted = from_port_mapping(mapping, ENOUGH)
    table = ExperimentTable.from_experiments(several)
    expected = [inverse_throughput(mapping, experiment) for experiment in several]
    np.testing.assert_allclose(converted.cycles(table), expected, rtol=1e-12)


@examples(40)
@given(
    mappings(st.integers(1, 6), max_kinds=2, max_count=2),
    st.lists(experiments(max_repeats=9), min_size=2, max_size=40),
)
def test_what_takes_equally_long_still_does_after_the_conversion(
    mapping: PortMapping, several: list[Experiment]
) -> None:
    table = ExperimentTable.from_experiments(several)
    predicted = from_port_mapping(mapping, ENOUGH).cycles(table)
    expected = np.array([inverse_throughput(mapping, experiment) for experiment in several])
    for value in np.unique(expected):
        assert len(np.unique(predicted[expected == value])) == 1


@examples(30)
@given(mappings(st.integers(1, 8)), experiments())
def test_no_precision_is_lost_but_that_of_the_stored_loads(
    mapping: PortMapping, experiment: Experiment
) -> None:
    ports_alone = PortMapping(mapping.ports, mapping.usage)
    converted = from_port_mapping(ports_alone, ENOUGH)
    totals = [Fraction(0)] * len(converted.resources)
    for scheme, count in experiment.terms:
        for index, load in converted.loads[scheme]:
            totals[index] += count * Fraction(load).limit_denominator(len(mapping.ports))
    n_ports = len(mapping.ports)
    expected = over_ports(work_of(ports_alone, experiment), n_ports)
    assert Fraction(expected).limit_denominator(n_ports) == max(totals, default=0)


@examples(15)
@given(mappings(st.integers(1, 8)), experiments(max_repeats=5))
def test_a_converted_mapping_agrees_with_the_linear_program(
    mapping: PortMapping, experiment: Experiment
) -> None:
    predicted = from_port_mapping(mapping, ENOUGH).inverse_throughput(experiment)
    assert predicted == pytest.approx(lp_inverse_throughput(mapping, experiment), abs=1e-6)


@examples(30)
@given(mappings(st.integers(1, 6)))
def test_no_resource_is_dominated_by_another(mapping: PortMapping) -> None:
    converted = from_port_mapping(PortMapping(mapping.ports, mapping.usage), ENOUGH)
    table = np.zeros((len(converted.resources), len(converted.loads)))
    for column, loads in enumerate(converted.loads.values()):
        for index, load in loads:
            table[index, column] = load
    for index, row in enumerate(table):
        others = np.delete(table, index, axis=0)
        assert not np.any(np.all(others >= row, axis=1))


@given(st.lists(masks(6), unique=True, max_size=6))
def test_connected_unions_are_those_that_overlaps_hold_together(kinds: list[int]) -> None:
    def connected(union: int) -> bool:
        inside = [kind for kind in kinds if kind & ~union == 0]
        reached, before = inside[0], 0
        while reached != before:
            before = reached
            for kind in inside:
                reached |= kind if kind & reached else 0
        return reached == union

    unions = {0}
    for kind in kinds:
        unions |= {union | kind for union in unions}
    # A union may hold port sets that are connected only through others inside it, so all of them count.
    expected = {union for union in unions if union and connected(union)}
    assert set(connected_unions(kinds, 1000).tolist()) == expected


def test_a_bottleneck_beside_the_ports_becomes_a_resource() -> None:
    converted = from_port_mapping(PortMapping(("a", "b", "c"), {"nop": (), "add": ((7, 1),)}, r_max=2.0))
    assert converted == ResourceMapping(
        ("[a,b,c]", "R_max"), {"nop": ((1, 0.5),), "add": ((0, 1 / 3), (1, 0.5))}
    )


def test_a_mapping_without_any_port_in_use_needs_no_resource() -> None:
    assert from_port_mapping(PortMapping(("a",), {"nop": ()})) == ResourceMapping((), {"nop": ()})


def star(ports: int) -> PortMapping:
    """Every set of port 0 and others is a connected union, and none is dominated: 2^(ports − 1) − 1."""
    usage = {str(k): ((1 | 1 << k, 1),) for k in range(1, ports)}
    return PortMapping(tuple(map(str, range(ports))), usage)


def test_too_many_resources_are_counted_and_refused_with_what_to_do() -> None:
    assert len(from_port_mapping(star(6)).resources) == 31
    with pytest.raises(
        TooManyResourcesError, match=r"needs 31 resources.*30 are allowed: allow more"
    ) as told:
        from_port_mapping(star(6), Conversion(max_resources=30))
    assert (told.value.count, told.value.limit) == (31, 30)


def test_r_max_counts_towards_the_limit() -> None:
    mapping = PortMapping(star(6).ports, star(6).usage, r_max=4.0)
    with pytest.raises(TooManyResourcesError, match="needs 32 resources"):
        from_port_mapping(mapping, Conversion(max_resources=31))


def test_a_number_of_resources_beyond_counting_is_refused_quickly() -> None:
    with pytest.raises(TooManyResourcesError, match=r"more than 65,536.*use the port mapping itself"):
        from_port_mapping(star(40), ENOUGH)


@pytest.mark.parametrize("limit", [0, -1, MAX_RESOURCES + 1, True])
def test_an_impossible_limit_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInputError, match="max_resources"):
        Conversion(max_resources=limit)


def test_names_differ_where_the_ports_would_make_them_equal_or_endless() -> None:
    usage = {"x": ((0b011, 1),), "y": ((0b100, 1),)}
    assert from_port_mapping(PortMapping(("a", "b", "a,b"), usage)).resources == ("[a,b]", "[a,b] (2)")
    wide = PortMapping(tuple(f"port number {k}" for k in range(60)), {"x": ((2**60 - 1, 1),)})
    (name,) = from_port_mapping(wide).resources
    assert name == "[port number 0,…,port number 59] (60 ports)"


def test_a_conversion_that_would_have_too_many_loads_is_refused_before_it_is_made() -> None:
    everywhere = uops_of((1 << k, 1) for k in range(10))
    usage = {f"pair {k}": uops_of([(1 << k % 10 | 1 << k // 10, 1)]) for k in range(100)}
    narrow = PortMapping(tuple(map(str, range(10))), usage)
    resources = len(from_port_mapping(narrow, ENOUGH).resources)
    crowd = {f"scheme {k}": everywhere for k in range(MAX_LOADS // resources + 1)}
    with pytest.raises(InvalidInputError, match=f"at most {MAX_LOADS:,} loads"):
        from_port_mapping(PortMapping(narrow.ports, {**usage, **crowd}), ENOUGH)
