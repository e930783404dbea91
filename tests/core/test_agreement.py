"""The linear program, both closed forms, the flow and the evaluator compute the same function.

Eight experiments for each of 162 random mappings of 6 schemes, and three for each of 80 mappings of 30: 1,536
random cases. All but the LP's floating-point solver agree to the last bit, that one to 1e-9.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.evaluator import Evaluator, PortMappingModel
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of
from inference.core.schedule import load_intervals, schedule
from inference.core.tables import ExperimentTable, Population
from inference.core.throughput import densest_ports, inverse_throughput, port_bound, union_bound, work_of
from tests.core.oracle import lp_inverse_throughput, lp_port_bounds, over_ports
from tests.core.strategies import SCHEMES, experiments, mappings, masks
from tests.drawn import examples

FEW_KINDS = 24
"""Of more distinct µops the unions may be too many to list; flow, LP and evaluator remain."""


def agree(mapping: PortMapping, mixes: list[Experiment]) -> None:
    bounds, expected = [], []
    for mix in mixes:
        work = work_of(mapping, mix)
        bound = port_bound(work)
        if len(work) <= FEW_KINDS:
            assert union_bound(work) == bound
        if len(mapping.ports) <= 13:
            assert over_ports(work, len(mapping.ports)) == bound
        if work:
            densest = densest_ports(work)
            assert densest.mass / densest.width == bound
        cycles = bound if mapping.r_max is None else max(bound, mix.length / mapping.r_max)
        if mapping.issue_width is not None:
            slots = sum(count * mapping.slots.get(scheme, 1) for scheme, count in mix.terms)
            cycles = max(cycles, slots / mapping.issue_width)
        assert inverse_throughput(mapping, mix) == cycles
        assert lp_inverse_throughput(mapping, mix) == pytest.approx(cycles, rel=1e-9, abs=1e-9)
        bounds.append(bound)
        expected.append(cycles)
    solved = lp_port_bounds([work_of(mapping, mix) for mix in mixes])
    assert solved == pytest.approx(bounds, rel=1e-9, abs=1e-9)
    schemes = list(mapping.usage)
    table = ExperimentTable.from_experiments(mixes, schemes)
    population = Population.from_mappings([mapping], schemes)
    for compiled in (True, False):
        evaluator = Evaluator(table, len(mapping.ports), mapping.r_max, compiled=compiled)
        if mapping.issue_width is None:
            assert evaluator.cycles(population).tolist() == [expected]
        assert evaluator.mapping_cycles(mapping).tolist() == expected


MIXES = st.lists(experiments(), min_size=8, max_size=8)


@examples(120)
@given(mapping=mappings(st.integers(1, 9)), mixes=MIXES)
def test_all_agree_on_few_ports(mapping: PortMapping, mixes: list[Experiment]) -> None:
    agree(mapping, mixes)


@examples(12)
@given(mapping=mappings(st.integers(10, 13), max_kinds=5), mixes=MIXES)
def test_all_agree_on_the_widest_tables(mapping: PortMapping, mixes: list[Experiment]) -> None:
    agree(mapping, mixes)


@examples(30)
@given(mapping=mappings(st.integers(14, 63), max_kinds=2), mixes=MIXES)
def test_all_agree_on_many_ports(mapping: PortMapping, mixes: list[Experiment]) -> None:
    agree(mapping, mixes)


MANY = tuple(f"s{k:02}" for k in range(30))


@st.composite
def wide_mappings(draw: st.DrawFn) -> PortMapping:
    """Thirty schemes of up to three µops on 1 to 24 ports, with and without R_max."""
    n_ports = draw(st.integers(1, 24))
    random = draw(st.randoms(use_true_random=False))
    narrow = draw(st.booleans())

    def mask() -> int:
        if narrow:
            return sum({1 << random.randrange(n_ports) for _ in range(3)})
        return random.randrange(1, 1 << n_ports)

    usage = {
        scheme: uops_of((mask(), random.randint(1, 4)) for _ in range(random.randint(0, 3)))
        for scheme in MANY
    }
    return PortMapping(tuple(map(str, range(n_ports))), usage, draw(st.sampled_from((None, 4.0, 5.5))))


@examples(80)
@given(
    mapping=wide_mappings(),
    mixes=st.lists(
        st.dictionaries(st.sampled_from(MANY), st.integers(1, 100), min_size=1, max_size=30).map(
            Experiment.of
        ),
        min_size=2,
        max_size=2,
    ),
)
def test_all_agree_on_long_mixes_of_many_kinds(mapping: PortMapping, mixes: list[Experiment]) -> None:
    longest = Experiment.of({scheme: 1 + 33 * k % 100 for k, scheme in enumerate(MANY)})
    agree(mapping, [*mixes, longest])


def test_unions_of_pairs_alone_would_miss_the_maximum_of_appendix_e2() -> None:
    """Ports 1 to 4 are bits 0 to 3; a can use 1 and 2, b 2 and 3, c 2 and 4: 3/4, where pairs give 2/3."""
    usage = {"A": ((0b0011, 1),), "B": ((0b0110, 1),), "C": ((0b1010, 1),)}
    mapping = PortMapping(("1", "2", "3", "4"), usage)
    mix = Experiment.of("ABC")
    work = work_of(mapping, mix)
    assert max(
        sum(mass for mask, mass in work.items() if mask & ~(u | v) == 0) / (u | v).bit_count()
        for u in work
        for v in work
    ) == pytest.approx(2 / 3)
    assert (
        inverse_throughput(mapping, mix)
        == port_bound(work)
        == union_bound(work)
        == over_ports(work, 4)
        == 0.75
    )
    assert densest_ports(work).ports == 0b1111
    assert lp_port_bounds([work]) == pytest.approx([0.75], rel=1e-12)
    assert lp_inverse_throughput(mapping, mix) == pytest.approx(0.75, rel=1e-12)
    plan = schedule(mapping, mix)
    assert (plan.cycles, plan.loads, plan.bottleneck) == (0.75, (0.75,) * 4, (0, 1, 2, 3))
    assert load_intervals(work, 4, Fraction(3, 4)) == ((0.75, 0.75),) * 4
    agree(mapping, [mix])
    table = ExperimentTable.from_experiments([mix, Experiment.of({"A": 2, "B": 2, "C": 2})])
    assert PortMappingModel(mapping).cycles(table).tolist() == [0.75, 1.5]
    crowd = Population.from_mappings([mapping] * 20, table.schemes)
    for compiled in (True, False):
        assert (Evaluator(table, 4, compiled=compiled).cycles(crowd) == [0.75, 1.5]).all()


@examples(60)
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
