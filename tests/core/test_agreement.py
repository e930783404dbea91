"""The linear program, both closed forms, the flow and the evaluator of PMEvo compute the same function.

Eight experiments for each of 162 random mappings: 1,296 random cases. All but the LP's floating-point solver
agree to the last bit.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.flow import densest_ports
from inference.core.mapping import PortMapping
from inference.core.oracle import lp_port_bounds
from inference.core.tables import ExperimentTable, Population
from inference.core.throughput import inverse_throughput, over_ports, over_uops, port_bound, work_of
from tests.core.strategies import SCHEMES, experiments, mappings, masks


def agree(mapping: PortMapping, mixes: list[Experiment]) -> None:
    bounds, expected = [], []
    for mix in mixes:
        work = work_of(mapping, mix)
        bound = over_uops(work)
        assert port_bound(work) == bound
        if len(mapping.ports) <= 13:
            assert over_ports(work, len(mapping.ports)) == bound
        if work:
            densest = densest_ports(work)
            assert densest.mass / densest.width == bound
        cycles = bound if mapping.r_max is None else max(bound, mix.length / mapping.r_max)
        assert inverse_throughput(mapping, mix) == cycles
        bounds.append(bound)
        expected.append(cycles)
    solved = lp_port_bounds([work_of(mapping, mix) for mix in mixes])
    assert solved == pytest.approx(bounds, rel=1e-6, abs=1e-9)
    table = ExperimentTable.from_experiments(mixes, SCHEMES)
    population = Population.from_mappings([mapping], SCHEMES)
    for compiled in (True, False):
        evaluator = Evaluator(table, len(mapping.ports), mapping.r_max, compiled=compiled)
        assert evaluator.cycles(population).tolist() == [expected]


MIXES = st.lists(experiments(), min_size=8, max_size=8)


@settings(max_examples=120, deadline=None)
@given(mapping=mappings(st.integers(1, 9)), mixes=MIXES)
def test_all_agree_on_few_ports(mapping: PortMapping, mixes: list[Experiment]) -> None:
    agree(mapping, mixes)


@settings(max_examples=12, deadline=None)
@given(mapping=mappings(st.integers(10, 13), max_kinds=5), mixes=MIXES)
def test_all_agree_on_the_widest_tables(mapping: PortMapping, mixes: list[Experiment]) -> None:
    agree(mapping, mixes)


@settings(max_examples=30, deadline=None)
@given(mapping=mappings(st.integers(14, 63), max_kinds=2), mixes=MIXES)
def test_all_agree_on_many_ports(mapping: PortMapping, mixes: list[Experiment]) -> None:
    agree(mapping, mixes)


@settings(max_examples=60, deadline=None)
@given(
    masses=st.integers(1, 8).flatmap(
        lambda n: st.dictionaries(masks(n), st.integers(1, 1000), min_size=1, max_size=20)
    )
)
def test_the_flow_finds_the_largest_of_the_densest_port_sets(masses: dict[int, int]) -> None:
    densest = densest_ports(masses)
    union = 0
    for ports in range(1, 1 << max(masses).bit_length()):
        inside = sum(mass for mask, mass in masses.items() if mask & ~ports == 0)
        assert inside * densest.width <= densest.mass * ports.bit_count()
        if inside * densest.width == densest.mass * ports.bit_count():
            union |= ports
    assert densest.ports == union


@pytest.mark.parametrize("count", [300, 70_000, 1 << 30])
def test_totals_beyond_16_and_32_bits_do_not_overflow(count: int) -> None:
    usage = {scheme: ((k + 1, count - k), (15, 7)) for k, scheme in enumerate(SCHEMES)}
    agree(PortMapping(("0", "1", "2", "3"), usage), [Experiment.of({"a": 100, "b": 37, "c": 1})])
