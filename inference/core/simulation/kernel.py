"""The scheduler, cycle by cycle, compiled. Importing this module loads numba.

A cycle has two steps: ports issue µops that wait at them (`issuing`), then µops are dispatched to the queues.
Times are whole cycles. Only ties between ports are random; they depend on the seed.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled, compiled_in_place, inlined
from inference.core.kernels.layout import Number
from inference.core.simulation.issuing import (
    BUDGET,
    CALENDAR_CYCLES,
    FAR,
    NEVER,
    NEXT,
    OLDEST,
    RETURNED,
    WAITING,
    KernelPolicy,
    KernelProgram,
    KernelState,
    KernelTimeline,
    free_port,
    issue_from,
    issue_oldest,
    ready_at,
    record_issue,
)
from inference.core.simulation.program import INTERVAL_PARTS
from inference.core.tables import Integers

LEAST_LOADED, ROUND_ROBIN, RANDOM, AT_ISSUE, EVEN, IN_ORDER = 0, 1, 2, 3, 4, 5  # places in `Binding`
_LOAD_HISTORY = 5  # load_age goes up to 4


@compiled
def run(
    program: KernelProgram,
    policy: KernelPolicy,
    iterations: Number,
    max_cycles: Number,
    seed: Number,
    timeline: KernelTimeline,
) -> Number:
    """Execute a loop body `iterations` times, or until `max_cycles` are over; returns the elapsed cycles.
    `timeline` has iterations × µops entries.
    """
    total = program.ports.size * iterations
    state = KernelState(
        np.zeros((policy.ports, policy.queued + 1), dtype=np.int64),
        np.zeros(policy.ports, dtype=np.int64),
        np.zeros((_LOAD_HISTORY, policy.ports), dtype=np.int64),
        np.zeros(policy.ports, dtype=np.int64),
        np.zeros((policy.ports, CALENDAR_CYCLES), dtype=np.int64),
        np.full(total, NEVER, dtype=np.int64),
        np.zeros(1 + policy.sharing.size, dtype=np.int64),
        np.full(policy.sharing.size, NEVER, dtype=np.int64),
        np.zeros(policy.ports, dtype=np.int64),
        np.zeros(5, dtype=np.int64),
        # xorshift never leaves a state of 0, so the state is odd.
        np.full(1, np.uint64(2) * np.uint64(seed) + np.uint64(1), dtype=np.uint64),
    )
    return _run(program, policy, state, timeline, max_cycles)


@compiled_in_place
def _run(
    program: KernelProgram,
    policy: KernelPolicy,
    state: KernelState,
    timeline: KernelTimeline,
    max_cycles: Number,
) -> Number:
    """`run` from an empty state; returns the elapsed cycles."""
    total, cycle = timeline.issued.size, 0
    while cycle < max_cycles:
        if policy.binding == AT_ISSUE:
            issue_oldest(program, policy, state, timeline, cycle)
        elif policy.binding != IN_ORDER:
            for port in range(policy.ports):
                if state.free_at[port] <= cycle:
                    issue_from(port, program, policy, state, timeline, cycle)
        oldest = state.counts[OLDEST]
        while oldest < state.counts[NEXT] and timeline.issued[oldest] != NEVER:
            oldest += 1
        state.counts[OLDEST] = oldest
        if oldest == total:
            return cycle + 1
        dispatched = state.counts[NEXT]
        _dispatch(program, policy, state, timeline, cycle, total)
        following = cycle + 1
        if state.counts[NEXT] == dispatched:
            following = _next_event(program, policy, state, timeline, cycle, total)
        for passed in range(cycle, min(following, cycle + CALENDAR_CYCLES)):
            for port in range(policy.ports):
                state.returns[port, passed % CALENDAR_CYCLES] = 0  # from now on the place of a later cycle
                state.loads[(passed + 1) % _LOAD_HISTORY, port] = state.lengths[port]
        cycle = following
    return max_cycles


@inlined
def _next_event(
    program: KernelProgram,
    policy: KernelPolicy,
    state: KernelState,
    timeline: KernelTimeline,
    cycle: Number,
    total: Number,
) -> Number:
    """The next cycle in which anything may happen, after one in which nothing was dispatched."""
    counts, following = state.counts, FAR
    for port in range(policy.ports):
        for k in range(state.lengths[port]):
            following = min(following, ready_at(state.queues[port, k], program, timeline.issued))
    uop = counts[NEXT]
    if counts[BUDGET] <= 0:
        return cycle + 1
    if uop < total and uop - counts[OLDEST] < policy.window:
        iteration, position = uop // program.ports.size, uop % program.ports.size
        if position == 0 and cycle * INTERVAL_PARTS < iteration * policy.interval:
            following = min(following, -(-iteration * policy.interval // INTERVAL_PARTS))
        elif policy.binding == IN_ORDER:
            following = min(following, ready_at(uop, program, timeline.issued))
        elif counts[WAITING] < policy.queued:
            for port in range(policy.ports):
                if program.ports[position] >> port & 1 and state.lengths[port] < policy.queue:
                    return cycle + 1  # the µop was bound to another port, without room, and may get this one
    return max(following, cycle + 1)


@inlined
def _dispatch(
    program: KernelProgram,
    policy: KernelPolicy,
    state: KernelState,
    timeline: KernelTimeline,
    cycle: Number,
    total: Number,
) -> None:
    """Put the next µops into queues, as many as the width and their room allow."""
    counts = state.counts
    # Slots that were left do not carry over; slots that a wide µop took beyond the width are owed.
    counts[BUDGET] = min(counts[BUDGET], 0) + policy.width
    while counts[NEXT] < total and counts[BUDGET] > 0:
        uop = counts[NEXT]
        if uop - counts[OLDEST] >= policy.window:
            return
        position = uop % program.ports.size
        if position == 0 and cycle * INTERVAL_PARTS < uop // program.ports.size * policy.interval:
            return
        if policy.binding == IN_ORDER and program.ports[position]:
            returns_at = cycle + program.latency[position]
            overtakes = policy.completes_in_order and returns_at < counts[RETURNED]
            if overtakes or ready_at(uop, program, timeline.issued) > cycle:
                return
            port = free_port(uop, program, policy, state, cycle)
            if port == NEVER:
                return
            counts[RETURNED] = max(counts[RETURNED], returns_at)
            counts[WAITING] += 1  # which its issue takes back
            record_issue(uop, port, program, policy, state, timeline, cycle)
        elif program.ports[position]:
            if counts[WAITING] >= policy.queued:
                return
            port = 0
            if policy.binding != AT_ISSUE:
                port = _bound_port(program.ports[position], policy, state, cycle)
                if state.lengths[port] >= policy.queue:
                    return
                timeline.port[uop] = port
            state.queues[port, state.lengths[port]] = uop
            state.lengths[port] += 1
            state.bound[port] += 1
            counts[WAITING] += 1
        else:
            timeline.issued[uop] = cycle
        timeline.dispatched[uop] = cycle
        counts[BUDGET] -= program.slots[position]
        counts[NEXT] += 1


@inlined
def _bound_port(mask: Number, policy: KernelPolicy, state: KernelState, cycle: Number) -> Number:
    """The port that a µop is bound to at dispatch."""
    if policy.binding == ROUND_ROBIN:
        port = state.turn[0] % policy.ports
        while not mask >> port & 1:
            port = (port + 1) % policy.ports
        state.turn[0] = port + 1
        return port
    if policy.binding == EVEN:
        port = NEVER
        for other in range(policy.ports):
            if mask >> other & 1 and (port == NEVER or state.bound[other] < state.bound[port]):
                port = other
        return port
    loads = state.lengths
    if policy.load_age:
        loads = state.loads[(cycle + 1 - policy.load_age) % _LOAD_HISTORY]
    best, lowest_load, ties = NEVER, FAR, 0
    for port in range(policy.ports):
        if not mask >> port & 1:
            continue
        load = loads[port] // policy.load_step if policy.binding == LEAST_LOADED else 0
        if load < lowest_load:
            best, lowest_load, ties = port, load, 1
        elif load == lowest_load:
            ties += 1
            # Reservoir sampling: in the end each tied port is chosen with the same probability.
            if _random_below(state.random, ties) == 0:
                best = port
    return best


@inlined
def _random_below(state: Integers, below: Number) -> Number:
    """A random number from 0 to `below` − 1 (xorshift64)."""
    bits = state[0]
    bits ^= bits << np.uint64(13)
    bits ^= bits >> np.uint64(7)
    bits ^= bits << np.uint64(17)
    state[0] = bits
    return np.int64((bits >> np.uint64(33)) % np.uint64(below))
