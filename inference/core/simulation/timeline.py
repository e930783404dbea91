"""The first iterations of a simulated loop, cycle by cycle, with the reason for each wait.

The simulation says when a µop is dispatched, and when it is issued on which port. What it waited for, and
when it is done and retired, follow from that. Retirement does not feed back into the simulation: it is
assumed to be in order, from the cycle after the result on, and no wider than dispatch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from inference.core.simulation.program import INTERVAL_PARTS, SchedulerPolicy, SimulatedProgram, Wait
from inference.core.simulation.steady_state import execute, simulate
from inference.core.tables import Int64s
from inference.core.tunables import check_integer

DEFAULT_ITERATIONS = 20
MAX_ITERATIONS = 50
NONE = -1
"""In columns of a timeline: no port, operand or µop."""

_MAX_PERIOD = 24
"""Longest period to be found: rates have small denominators, twice as large where ports alternate."""


class DispatchStall(IntEnum):
    """Why a µop was not dispatched in the cycle before, although the width allowed it."""

    NOTHING = 0
    WINDOW = 1  # too far behind the oldest µop that has not issued
    SCHEDULER = 2  # too many µops wait in all
    QUEUE = 3  # the queue of its port is full
    FRONT_END = 4  # the iteration was not there yet (`SimulatedProgram.interval`)


class PortDelay(IntEnum):
    """Why a µop with all its values was not issued in the cycle before."""

    NOTHING = 0
    OCCUPIED = 1  # `blocker` occupies the port
    RESULT_BUS = 2  # the result of `blocker` returns when its own would
    LOST_SLOT = 3  # the port issued nothing: the scheduler had selected a µop that was not ready


@dataclass(frozen=True, eq=False)
class Timeline:
    """Iterations of a loop from an empty pipeline on.

    The columns are int64[iterations, µops]. A µop is in execution from `issued` until before `done`, and
    waits for its port from `ready` or the cycle after its dispatch on, whichever is later.

    Args:
        program: The loop body.
        policy: Its scheduler.
        cycles: Per iteration in the steady state, as `simulate` computes it.
        steady_from: The first iteration of the steady state.
        period: Iterations after which the issue cycles repeat; None where ties between ports keep them from
            repeating, so that only their rate is steady.
        dispatched: Cycle in which it enters the scheduler.
        ready: Cycle from which on all its values are available, 0 where it waits for none.
        issued: Cycle in which its execution begins; for a µop without ports, that of its dispatch.
        port: The port that executes it, NONE for a µop without ports.
        done: Cycle from which on its result is available.
        retired: Cycle in which it leaves the core.
        operand: Index into the waits of its µop of the value that arrives last, NONE without any.
        stall: A `DispatchStall`.
        oldest: The µop, by its number (iteration × µops of the body + place), that had to issue before
            dispatch went on; NONE for other stalls.
        delay: A `PortDelay`.
        blocker: The µop, by its number, that occupied the port or bus; NONE without one. It may belong to a
            later iteration than the last one here.
    """

    program: SimulatedProgram
    policy: SchedulerPolicy
    cycles: float
    steady_from: int
    period: int | None
    dispatched: Int64s
    ready: Int64s
    issued: Int64s
    port: Int64s
    done: Int64s
    retired: Int64s
    operand: Int64s
    stall: Int64s
    oldest: Int64s
    delay: Int64s
    blocker: Int64s

    @property
    def iterations(self) -> int:
        return len(self.issued)

    @property
    def span(self) -> int:
        """Cycles from the first dispatch until everything is retired."""
        return int(self.retired.max()) + 1

    def earliest_issue(self, iteration: int, place: int) -> int:
        """The cycle in which a µop could have been issued on a free port."""
        dispatched = int(self.dispatched[iteration, place])
        if not self.program.uops[place].ports:
            return dispatched
        return max(dispatched + 1, int(self.ready[iteration, place]))

    def last_operand(self, iteration: int, place: int) -> Wait | None:
        """The value that a µop waited for after its dispatch; None where all were there before."""
        operand = int(self.operand[iteration, place])
        if operand == NONE or self.ready[iteration, place] <= self.dispatched[iteration, place] + 1:
            return None
        return self.program.uops[place].waits[operand]


def timeline_of(
    program: SimulatedProgram,
    policy: SchedulerPolicy,
    iterations: int = DEFAULT_ITERATIONS,
    seed: int = 0,
) -> Timeline:
    """The first iterations of a loop. They do not depend on how many there are.

    Args:
        program: The loop body.
        policy: Its scheduler.
        iterations: Number of iterations, 1 to MAX_ITERATIONS.
        seed: Seed as for `simulate`.

    Raises:
        InvalidInputError: For a number of iterations out of range.
    """
    check_integer("iterations", iterations, 1, MAX_ITERATIONS)
    simulation = simulate(program, policy, seed)
    columns = simulation.dispatched, simulation.port, simulation.issued
    in_flight = -(-policy.window // len(program.uops))  # iterations that have an effect on those before
    executed = iterations + in_flight
    if len(simulation.issued) < executed:
        columns = execute(program, policy, executed, seed)
    dispatched, port, issued = (column[:executed] for column in columns)
    ready, operand = _operands(program, issued)
    done = issued + np.array([uop.latency if uop.ports else 0 for uop in program.uops])
    stall, oldest = _stalls(program, policy, dispatched, issued)
    earliest = np.maximum(ready, dispatched + 1)
    delay, blocker = _delays(program, earliest, issued, port, done)
    steady_from, period = _steady_state(simulation.issued, in_flight, simulation.cycles)
    return Timeline(
        program=program,
        policy=policy,
        cycles=simulation.cycles,
        steady_from=steady_from,
        period=period,
        dispatched=dispatched[:iterations],
        ready=ready[:iterations],
        issued=issued[:iterations],
        port=port[:iterations],
        done=done[:iterations],
        retired=_retirement_cycles(program, done[:iterations]),
        operand=operand[:iterations],
        stall=stall[:iterations],
        oldest=oldest[:iterations],
        delay=delay[:iterations],
        blocker=blocker[:iterations],
    )


def _operands(program: SimulatedProgram, issued: Int64s) -> tuple[Int64s, Int64s]:
    """`ready` and `operand`: of each µop's values, when the last one arrives, and which one that is."""
    ready, operand = np.zeros_like(issued), np.full_like(issued, NONE)
    for place, uop in enumerate(program.uops):
        for number, wait in enumerate(uop.waits):
            arrives = issued[: max(len(issued) - wait.iterations, 0), wait.producer] + wait.cycles
            rows = slice(len(issued) - len(arrives), None)  # earlier iterations have no producer
            is_last = arrives > ready[rows, place]
            ready[rows, place] = np.where(is_last, arrives, ready[rows, place])
            operand[rows, place] = np.where(is_last, number, operand[rows, place])
    return ready, operand


def _stalls(
    program: SimulatedProgram, policy: SchedulerPolicy, dispatched: Int64s, issued: Int64s
) -> tuple[Int64s, Int64s]:
    """`stall` and `oldest`: the state of the scheduler in the cycle before a µop was dispatched."""
    stall, oldest = np.full(issued.size, DispatchStall.NOTHING), np.full(issued.size, NONE)
    has_port = np.array([uop.ports != 0 for uop in program.uops])
    queued_before = np.cumsum([0, *np.tile(has_port, len(issued))])  # µops with a port before each µop
    issue_cycles = np.sort(issued[:, has_port], axis=None)
    all_issued_by = np.maximum.accumulate(issued.ravel())  # when it and all earlier µops had issued
    interval = round(program.interval * INTERVAL_PARTS)
    for uop in _stalled_uops(program, dispatched):
        cycle = int(dispatched.flat[uop]) - 1
        iteration, place = divmod(uop, len(program.uops))
        first = int(np.searchsorted(all_issued_by, cycle, "right"))  # the oldest that had not issued
        waiting = queued_before[uop] - np.searchsorted(issue_cycles, cycle, "right")
        # In the order in which the kernel's `_dispatch` tests them; what remains is a full queue.
        if uop - first >= policy.window:
            stall[uop], oldest[uop] = DispatchStall.WINDOW, first
        elif place == 0 and cycle * INTERVAL_PARTS < iteration * interval:
            stall[uop] = DispatchStall.FRONT_END
        elif waiting >= policy.queued:
            stall[uop], oldest[uop] = DispatchStall.SCHEDULER, first
        else:
            stall[uop] = DispatchStall.QUEUE
    return stall.reshape(issued.shape), oldest.reshape(issued.shape)


def _stalled_uops(program: SimulatedProgram, dispatched: Int64s) -> Iterator[int]:
    """Numbers of µops that were not dispatched in the cycle before although slots were left."""
    slots = [uop.slots for uop in program.uops]
    cycle, budget = 0, program.width
    for uop, dispatched_at in enumerate(dispatched.ravel().tolist()):
        while budget <= 0 and cycle < dispatched_at:
            cycle, budget = cycle + 1, budget + program.width
        if cycle < dispatched_at:
            yield uop
            cycle, budget = dispatched_at, program.width
        budget -= slots[uop % len(slots)]


def _delays(
    program: SimulatedProgram, earliest: Int64s, issued: Int64s, port: Int64s, done: Int64s
) -> tuple[Int64s, Int64s]:
    """`delay` and `blocker`: what the port of a µop did in the cycle before its issue."""
    delay, blocker = np.full(issued.size, PortDelay.NOTHING), np.full(issued.size, NONE)
    on_port: dict[tuple[int, int], int] = {}  # (port, cycle): µop
    on_bus: dict[tuple[int, int], int] = {}
    rows = list(zip(port.ravel().tolist(), issued.ravel().tolist(), done.ravel().tolist(), strict=True))
    busy = [uop.busy for uop in program.uops]
    for uop, (used, cycle, returned) in enumerate(rows):
        if used != NONE:
            on_bus[used, returned] = uop
            for later in range(busy[uop % len(busy)]):
                on_port[used, cycle + later] = uop
    for uop in np.flatnonzero((port != NONE) & (issued > earliest)).tolist():
        used, cycle, returned = rows[uop]
        if (used, cycle - 1) in on_port:
            delay[uop], blocker[uop] = PortDelay.OCCUPIED, on_port[used, cycle - 1]
        elif (used, returned - 1) in on_bus:
            delay[uop], blocker[uop] = PortDelay.RESULT_BUS, on_bus[used, returned - 1]
        else:
            delay[uop] = PortDelay.LOST_SLOT
    return delay.reshape(issued.shape), blocker.reshape(issued.shape)


def _retirement_cycles(program: SimulatedProgram, done: Int64s) -> Int64s:
    """The cycle in which each µop retires: in order, at most `width` slots per cycle, once it is done."""
    slots = [uop.slots for uop in program.uops]
    retired: list[int] = []
    cycle, budget = 0, program.width
    for uop, done_at in enumerate(done.ravel().tolist()):
        if done_at >= cycle:
            cycle, budget = done_at + 1, program.width
        elif budget <= 0:
            cycle, budget = cycle + 1, program.width
        budget -= slots[uop % len(slots)]
        retired.append(cycle)
    return np.array(retired).reshape(done.shape)


def _steady_state(issued: Int64s, in_flight: int, cycles: float) -> tuple[int, int | None]:
    """The first iteration from which on the duration of iterations repeats, and after how many it does.

    Where it does not repeat: the first iteration from which the ends of iterations stay as close to a steady
    rate as they do later on.

    Args:
        issued: Issue times of a run that is much longer than its warm-up.
        in_flight: Iterations at its end that may lack the influence of their successors.
        cycles: Per iteration.
    """
    ends = np.maximum.accumulate(issued.max(axis=1))
    if len(ends) > 2 * in_flight:
        ends = ends[: len(ends) - in_flight]
    durations = np.diff(ends, prepend=-1)
    for period in range(1, min(_MAX_PERIOD, len(ends) // 3) + 1):
        differs = np.flatnonzero(durations[period:] != durations[:-period])
        first = int(differs[-1]) + 1 if len(differs) else 0
        if first <= len(ends) // 2 and len(ends) - first >= 2 * period:
            return first, period
    drift = ends - cycles * np.arange(len(ends))
    later = drift[len(drift) // 2 :]
    is_outside = (drift < later.min()) | (drift > later.max())
    return int(np.flatnonzero(is_outside)[-1]) + 1 if is_outside.any() else 0, None
