"""The timeline of a simulated loop: lawful, consistent with the simulation, and its waits are true."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError
from inference.core.simulation.program import (
    Binding,
    SchedulerPolicy,
    SimulatedProgram,
    SimulatedUop,
    Wait,
)
from inference.core.simulation.steady_state import simulate
from inference.core.simulation.timeline import (
    NONE,
    DispatchStall,
    PortDelay,
    Timeline,
    timeline_of,
)
from tests.core.simulation.test_scheduler import POLICIES, PORTS, chain, independent, programs
from tests.drawn import examples


def check_order(timeline: Timeline) -> None:
    """Dispatched, issued, done, retired, in this order; in program order where the core keeps it."""
    has_port = np.array([uop.ports != 0 for uop in timeline.program.uops])
    assert (timeline.issued >= timeline.dispatched + has_port).all()
    latencies = [uop.latency if uop.ports else 0 for uop in timeline.program.uops]
    assert (timeline.done - timeline.issued == latencies).all()
    assert (timeline.retired > timeline.done).all()
    assert (np.diff(timeline.dispatched.ravel()) >= 0).all()
    assert (np.diff(timeline.retired.ravel()) >= 0).all()
    slots = [uop.slots for uop in timeline.program.uops]
    retired = Counter[int]()
    for cycle, taken in zip(timeline.retired.ravel().tolist(), slots * timeline.iterations, strict=True):
        retired[cycle] += taken
    assert max(retired.values()) < timeline.program.width + max(slots)


def check_waits(timeline: Timeline) -> None:
    """A µop issues as soon as its last value is there, or something on its port says why not."""
    n = len(timeline.program.uops)
    for iteration in range(timeline.iterations):
        for place, uop in enumerate(timeline.program.uops):
            arrivals = [
                int(timeline.issued[iteration - wait.iterations, wait.producer]) + wait.cycles
                for wait in uop.waits
                if wait.iterations <= iteration
            ]
            assert timeline.ready[iteration, place] == max(arrivals, default=0)
            last = timeline.last_operand(iteration, place)
            if last is not None:
                producer = timeline.issued[iteration - last.iterations, last.producer]
                assert producer + last.cycles == timeline.ready[iteration, place]
            issued, earliest = (
                int(timeline.issued[iteration, place]),
                timeline.earliest_issue(iteration, place),
            )
            delay, blocker = timeline.delay[iteration, place], int(timeline.blocker[iteration, place])
            assert (delay != PortDelay.NOTHING) == (issued > earliest)
            assert issued >= earliest
            if delay == PortDelay.OCCUPIED and blocker < timeline.issued.size:
                assert timeline.port.flat[blocker] == timeline.port[iteration, place]
                busy = timeline.program.uops[blocker % n].busy
                assert timeline.issued.flat[blocker] < issued <= timeline.issued.flat[blocker] + busy


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@examples(20)
@given(program=programs(), iterations=st.integers(1, 50))
def test_every_timeline_is_lawful(
    policy: SchedulerPolicy, program: SimulatedProgram, iterations: int
) -> None:
    timeline = timeline_of(program, policy, iterations)
    assert timeline.iterations == iterations
    assert timeline.cycles == simulate(program, policy).cycles
    check_order(timeline)
    check_waits(timeline)
    used = Counter[tuple[int, int]]()
    for k, (port, cycle) in enumerate(zip(timeline.port.flat, timeline.issued.flat, strict=True)):
        if port != NONE:
            for later in range(program.uops[k % len(program.uops)].busy):
                used[int(port), int(cycle) + later] += 1
    assert max(used.values(), default=1) == 1, "a port executes one µop per cycle"


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@examples(10)
@given(program=programs(), iterations=st.integers(1, 49))
def test_iterations_do_not_depend_on_how_many_are_asked_for(
    policy: SchedulerPolicy, program: SimulatedProgram, iterations: int
) -> None:
    short, long = timeline_of(program, policy, iterations), timeline_of(program, policy, 50)
    assert (short.steady_from, short.period, short.cycles) == (long.steady_from, long.period, long.cycles)
    for name in ("dispatched", "ready", "issued", "port", "done", "retired", "operand", "delay", "stall"):
        assert (getattr(short, name) == getattr(long, name)[:iterations]).all(), name


@examples(30)
@given(program=programs())
def test_the_steady_state_has_the_cycles_of_the_simulation(program: SimulatedProgram) -> None:
    policy = SchedulerPolicy()
    timeline = timeline_of(program, policy, 50)
    if timeline.period is None or timeline.steady_from + timeline.period >= 50:
        return
    ends = np.maximum.accumulate(timeline.issued.max(axis=1))
    first = timeline.steady_from
    rounds = (50 - 1 - first) // timeline.period * timeline.period
    rate = (ends[first + rounds] - ends[first]) / rounds
    assert rate == pytest.approx(timeline.cycles, rel=0.01, abs=0.01)


def test_a_chain_waits_for_its_value_of_the_iteration_before() -> None:
    timeline = timeline_of(chain(1, 4), SchedulerPolicy(), 5)
    assert timeline.cycles == 4.0
    assert (timeline.steady_from, timeline.period) == (1, 1)
    assert timeline.issued.ravel().tolist() == [1, 5, 9, 13, 17]
    assert timeline.last_operand(0, 0) is None
    assert timeline.last_operand(3, 0) == Wait(0, 1, 4)


def test_independent_uops_wait_for_their_port() -> None:
    timeline = timeline_of(independent(1, 1, 1), SchedulerPolicy(), 2)
    assert timeline.issued.ravel().tolist() == [1, 2, 3, 4, 5, 6]
    assert timeline.delay[0].tolist() == [PortDelay.NOTHING, PortDelay.OCCUPIED, PortDelay.OCCUPIED]
    assert timeline.blocker[0].tolist() == [NONE, 0, 1]
    assert (timeline.cycles, timeline.steady_from, timeline.period) == (3.0, 1, 1)


def test_width_is_no_stall_and_full_queues_are() -> None:
    wide = timeline_of(independent(*[0b11111] * 4, width=2), SchedulerPolicy(), 3)
    assert not wide.stall.any()
    queue = timeline_of(independent(1), SchedulerPolicy(queue=2), 20)
    assert queue.stall[-1, 0] == DispatchStall.QUEUE
    queued = timeline_of(independent(1), SchedulerPolicy(queue=9, queued=4), 20)
    assert queued.stall[-1, 0] == DispatchStall.SCHEDULER
    window = timeline_of(independent(1), SchedulerPolicy(window=4), 20)
    assert window.stall[-1, 0] == DispatchStall.WINDOW
    assert queued.oldest[-1, 0] < 19


def test_an_iteration_that_is_not_there_yet_waits_for_the_front_end() -> None:
    program = SimulatedProgram((SimulatedUop(1, 0),), PORTS, 6, interval=2.5)
    timeline = timeline_of(program, SchedulerPolicy(), 5)
    assert timeline.dispatched.ravel().tolist() == [0, 3, 5, 8, 10]
    assert timeline.stall.ravel().tolist() == [0, *[DispatchStall.FRONT_END] * 4]
    assert (timeline.cycles, timeline.period) == (2.5, 2)


def test_a_port_that_issues_nothing_is_said_to() -> None:
    """A three-cycle and a one-cycle result would return together: the younger loses its slot."""
    slow = SimulatedUop(1, 0, latency=3, waits=(Wait(0, 1, 9),))
    fast = SimulatedUop(1, 1, waits=(Wait(0, 0, 2),))
    policy = SchedulerPolicy(Binding.LEAST_LOADED, writeback_conflicts=True)
    timeline = timeline_of(SimulatedProgram((slow, fast), PORTS, 6), policy, 1)
    assert timeline.issued.ravel().tolist() == [1, 4]
    assert timeline.delay.ravel().tolist() == [PortDelay.NOTHING, PortDelay.RESULT_BUS]
    assert timeline.blocker[0, 1] == 0


def test_a_uop_without_ports_is_done_when_it_is_dispatched() -> None:
    timeline = timeline_of(independent(0, 0), SchedulerPolicy(), 2)
    assert (timeline.done == timeline.dispatched).all()
    assert (timeline.retired == timeline.dispatched + 1).all()


def test_ties_between_ports_leave_a_steady_rate() -> None:
    """Random ports: iterations do not repeat, but their rate is steady from some iteration on."""
    timeline = timeline_of(independent(3, 3, 3, 1), SchedulerPolicy(Binding.RANDOM), 50)
    assert timeline.period is None
    assert 0 <= timeline.steady_from < 50


@pytest.mark.parametrize("iterations", [0, 51, -1])
def test_the_number_of_iterations_has_limits(iterations: int) -> None:
    with pytest.raises(InvalidInputError, match="iterations"):
        timeline_of(independent(1), SchedulerPolicy(), iterations)


def test_a_long_latency_of_one_uop_ends() -> None:
    timeline = timeline_of(chain(1, 200), SchedulerPolicy(), 50)
    assert timeline.cycles == 200.0
    slow = SimulatedUop(1, 0, waits=(Wait(0, 1, 5000),))
    assert timeline_of(SimulatedProgram((slow,), PORTS, 6), SchedulerPolicy(), 3).cycles == 5000.0
