"""The simulated scheduler: lawful, no quicker than ports and slots, and slower as its policy says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError
from inference.core.simulation.program import (
    Binding,
    SchedulerPolicy,
    SharedResultBus,
    SimulatedProgram,
    SimulatedUop,
    Wait,
)
from inference.core.simulation.steady_state import COUNTED_UOPS, WARM_UP_UOPS, Simulation, simulate
from inference.core.throughput import port_bound
from tests.drawn import examples

PORTS = 5
POLICIES = (
    SchedulerPolicy(),
    SchedulerPolicy(load_age=2, load_step=3, queue=6),
    SchedulerPolicy(speculative_select=True, writeback_conflicts=True),
    SchedulerPolicy(writeback_conflicts=True, shared_buses=(SharedResultBus(0b00011, 0b11100),)),
    SchedulerPolicy(Binding.ROUND_ROBIN),
    SchedulerPolicy(Binding.RANDOM, queue=2, queued=4, window=8),
    SchedulerPolicy(Binding.AT_ISSUE, writeback_conflicts=True),
    SchedulerPolicy(Binding.EVEN, queue=24),
)


def independent(*masks: int, width: int = 6) -> SimulatedProgram:
    uops = tuple(SimulatedUop(mask, place) for place, mask in enumerate(masks))
    return SimulatedProgram(uops, PORTS, width)


def chain(length: int, latency: int) -> SimulatedProgram:
    """µops each of which waits for the one before, the first for the last of the iteration before."""
    uops = tuple(
        SimulatedUop(0b11111, k, latency=latency, waits=(Wait((k - 1) % length, int(k == 0), latency),))
        for k in range(length)
    )
    return SimulatedProgram(uops, PORTS, 6)


@st.composite
def programs(draw: st.DrawFn) -> SimulatedProgram:
    uops: list[SimulatedUop] = []
    count = draw(st.integers(1, 12))
    for place in range(count):
        mask = draw(st.integers(0, (1 << PORTS) - 1))
        latency = draw(st.integers(1, 5))
        waits = []
        if mask:
            for _ in range(draw(st.integers(0, 2))):
                producer = draw(st.integers(0, count - 1))
                waits.append(Wait(producer, int(producer >= place), draw(st.integers(1, 5))))
        slots = draw(st.integers(0 if place else 1, 2))
        uops.append(SimulatedUop(mask, place, slots, latency, draw(st.integers(1, 2)), tuple(waits)))
    return SimulatedProgram(tuple(uops), PORTS, draw(st.integers(1, 6)))


def least_cycles(program: SimulatedProgram) -> float:
    """What ports and slots allow."""
    work: Counter[int] = Counter()
    for uop in program.uops:
        if uop.ports:
            work[uop.ports] += uop.busy
    slots = sum(uop.slots for uop in program.uops) / program.width
    return max(port_bound(dict(work)) if work else 0.0, slots)


def check_lawful(program: SimulatedProgram, simulation: Simulation) -> None:
    """No µop issues before its values, on a foreign port, or on one that is busy."""
    n = len(program.uops)
    busy: dict[int, set[int]] = {port: set() for port in range(PORTS)}
    for iteration, row in enumerate(simulation.issued):
        for place, uop in enumerate(program.uops):
            at, port = int(row[place]), int(simulation.port[iteration, place])
            assert at >= simulation.dispatched[iteration, place] >= 0
            if not uop.ports:
                assert port == -1
                continue
            assert uop.ports >> port & 1
            cycles = set(range(at, at + uop.busy))
            assert not cycles & busy[port]
            busy[port] |= cycles
            for wait in uop.waits:
                if iteration >= wait.iterations:
                    assert at >= simulation.issued[iteration - wait.iterations, wait.producer] + wait.cycles
    dispatched = simulation.dispatched.reshape(-1)
    assert (np.diff(dispatched) >= 0).all(), "µops are dispatched in their order"
    taken = Counter[int]()
    for place, cycle in enumerate(dispatched):
        taken[int(cycle)] += program.uops[place % n].slots
    assert max(taken.values()) < program.width + max(uop.slots for uop in program.uops)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@examples(30)
@given(program=programs())
def test_every_schedule_is_lawful_and_no_quicker_than_ports_and_slots(
    policy: SchedulerPolicy, program: SimulatedProgram
) -> None:
    simulation = simulate(program, policy)
    check_lawful(program, simulation)
    assert simulation.cycles >= least_cycles(program) * 0.99 - 0.26  # an iteration more or less at the end


@examples(30)
@given(masks=st.lists(st.integers(1, 31), min_size=1, max_size=8))
def test_independent_uops_of_one_kind_are_as_quick_as_ports_allow(masks: list[int]) -> None:
    program = independent(*[masks[0]] * len(masks))
    for binding in (Binding.LEAST_LOADED, Binding.AT_ISSUE):
        cycles = simulate(program, SchedulerPolicy(binding)).cycles
        assert cycles == pytest.approx(least_cycles(program), rel=0.02)


@pytest.mark.parametrize(("length", "latency"), [(1, 1), (4, 3), (7, 1), (2, 20)])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_chain_takes_its_latencies(policy: SchedulerPolicy, length: int, latency: int) -> None:
    assert simulate(chain(length, latency), policy).cycles == pytest.approx(length * latency, rel=0.01)


def test_equal_seeds_give_equal_schedules_and_others_may_not() -> None:
    program = independent(*[0b11111] * 7, 0b00011, 0b00110)
    first, again, other = (simulate(program, POLICIES[1], seed) for seed in (1, 1, 2))
    assert (first.port == again.port).all()
    assert (first.issued == again.issued).all()
    assert (first.port != other.port).any()


def test_binding_by_old_queue_lengths_wastes_slots_of_chains() -> None:
    """As a Zen 5 does: additions in twelve registers on six ports take longer than one sixth of a cycle."""
    uops = tuple(SimulatedUop(0b111111, k, waits=(Wait(k, 1, 1),)) for k in range(12))
    program = SimulatedProgram(uops, 6, 8)
    tidy = simulate(program, SchedulerPolicy(load_age=0, load_step=1)).cycles
    stale = simulate(program, SchedulerPolicy(load_age=2, load_step=3, queue=6)).cycles
    assert tidy == pytest.approx(2.0, rel=0.02)
    assert stale > 1.1 * tidy


def test_results_that_return_together_cost_a_slot() -> None:
    """Operations of three cycles and of one on the same ports, as `pdep` and `shl` are."""
    uops = (SimulatedUop(0b111, 0, latency=3), SimulatedUop(0b111, 1))
    program = SimulatedProgram(uops, 3, 8)
    policy = SchedulerPolicy(load_age=2, load_step=3, queue=6)
    free = simulate(program, policy).cycles
    conflicting = simulate(program, replace(policy, writeback_conflicts=True)).cycles
    assert free == pytest.approx(2 / 3, rel=0.03)
    assert conflicting > 1.2 * free


def test_a_shared_result_bus_slows_the_ports_that_own_it() -> None:
    uops = (SimulatedUop(0b000111, 0, latency=3), *(SimulatedUop(0b111000, k) for k in (1, 2, 3)))
    program = SimulatedProgram(uops, 6, 8)
    own = SchedulerPolicy(writeback_conflicts=True)
    shared = replace(own, shared_buses=(SharedResultBus(0b000111, 0b111000),))
    assert simulate(program, own).cycles == pytest.approx(1.0, rel=0.02)
    assert 1.1 < simulate(program, shared).cycles < 1.35


@pytest.mark.parametrize(
    ("uops", "complaint"),
    [
        ((), "at least one µop"),
        ((SimulatedUop(1 << PORTS, 0),), "beyond the 5"),
        ((SimulatedUop(0, 0, waits=(Wait(0, 1, 1),)),), "cannot wait"),
        ((SimulatedUop(1, 0, latency=256),), "from 1 to 255"),
        ((SimulatedUop(1, 0, waits=(Wait(3, 0, 1),)),), "does not exist"),
        ((SimulatedUop(1, 0, waits=(Wait(0, 0, 1),)),), "comes after it"),
    ],
)
def test_what_cannot_be_executed_is_refused(uops: tuple[SimulatedUop, ...], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        SimulatedProgram(uops, PORTS, 4)


@pytest.mark.parametrize(
    "settings",
    [
        {"load_age": 5},
        {"queue": 0},
        {"binding": Binding.AT_ISSUE, "speculative_select": True},
        {"shared_buses": (SharedResultBus(1, 2),)},
    ],
)
def test_policies_that_make_no_sense_are_refused(settings: dict) -> None:
    with pytest.raises(InvalidInputError):
        SchedulerPolicy(**settings)


@pytest.mark.parametrize(("length", "warm_up", "counted"), [(1, 600, 2400), (7, 86, 343), (1000, 4, 4)])
def test_so_many_uops_warm_up_and_so_many_count_and_four_iterations_of_long_code(
    length: int, warm_up: int, counted: int
) -> None:
    assert (warm_up - 1) * length < max(WARM_UP_UOPS, 4 * length) <= warm_up * length
    assert (counted - 1) * length < max(COUNTED_UOPS, 4 * length) <= counted * length
    found = simulate(independent(*[0b11111] * length), SchedulerPolicy(Binding.ROUND_ROBIN))
    assert len(found.issued) == warm_up + counted
    last = found.issued.max(axis=1)
    assert found.cycles == (last[-1] - last[warm_up - 1]) / counted


ALU, MULTIPLIER = 0b1111, 0b0010


def with_readers(mask: int, latency: int, readers: int) -> SimulatedProgram:
    """A chain of one µop, and so many others that read its result."""
    chained = SimulatedUop(mask, 0, latency=latency, waits=(Wait(0, 1, latency),))
    reading = [SimulatedUop(ALU, 1 + k, waits=(Wait(0, 0, latency),)) for k in range(readers)]
    return SimulatedProgram((chained, *reading), 4, 6)


@pytest.mark.parametrize("readers", range(1, 12))
def test_even_binding_delays_a_chain_as_a_zen_4_does(readers: int) -> None:
    """Copies of `add r8, 1`, or of `imul r8d, r8d`, with comparisons of r8, as measured on a Zen 4."""
    even = SchedulerPolicy(Binding.EVEN, queue=24)
    added = simulate(with_readers(ALU, 1, readers), even).cycles
    assert added == pytest.approx(-(-(readers + 1) // 4), rel=0.01)
    multiplied = simulate(with_readers(MULTIPLIER, 3, readers), even).cycles
    assert multiplied == pytest.approx(3 + max(readers - 3, 0) / 4, rel=0.01)


@given(st.lists(st.integers(1, 2**PORTS - 1), min_size=1, max_size=8))
def test_even_binding_gives_each_port_as_many_uops_as_others(masks: list[int]) -> None:
    found = simulate(independent(*masks, *[2**PORTS - 1] * (8 * len(masks))), SchedulerPolicy(Binding.EVEN))
    counts = np.bincount(found.port.ravel(), minlength=PORTS)
    assert max(counts) - min(counts) <= 1


def test_a_wait_of_thousands_of_cycles_is_counted_over_few_iterations() -> None:
    carried = SimulatedUop(1, 0, latency=1, waits=(Wait(0, 1, 4000),))
    program = SimulatedProgram((carried, *(SimulatedUop(2, place) for place in range(1, 5))), 2, 4)
    simulation = simulate(program, SchedulerPolicy())
    assert simulation.cycles == 4000
    assert simulation.issued.max() < 200_000


def test_a_long_wait_within_an_iteration_lets_others_begin() -> None:
    """The window holds 100 µops, which are 50 iterations: these share a wait of 4,000 cycles."""
    user = SimulatedUop(1, 1, waits=(Wait(0, 0, 4000),))
    program = SimulatedProgram((SimulatedUop(1, 0), user), 1, 4)
    simulation = simulate(program, SchedulerPolicy(queue=200, window=100))
    assert simulation.cycles == pytest.approx(4000 / 50, rel=0.2)
