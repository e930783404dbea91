"""The scheduler, cycle by cycle, compiled. Importing this module loads numba.

A cycle has two steps: ports issue µops that wait at them, then µops are dispatched to the queues. Times are
whole cycles. Only ties between ports are random; they depend on the seed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inference.core.compiling import compiled, compiled_in_place, inlined
from inference.core.kernels.layout import Number
from inference.core.simulation.program import INTERVAL_PARTS, MAX_LATENCY
from inference.core.tables import Int64s, Integers

LEAST_LOADED, ROUND_ROBIN, RANDOM, AT_ISSUE, EVEN, IN_ORDER = 0, 1, 2, 3, 4, 5  # places in `Binding`
NEVER = -1
_FAR = 1 << 60  # later than any cycle
_CALENDAR_CYCLES = MAX_LATENCY + 1  # cycles ahead for which result buses are booked, cyclically
_LOAD_HISTORY = 5  # load_age goes up to 4
_WAITING, _NEXT, _OLDEST, _BUDGET, _RETURNED = 0, 1, 2, 3, 4  # places in `_State.counts`


class KernelProgram(NamedTuple):
    """A loop body: columns of µops, and from `producer` on of waits, `first_wait` of them before each µop."""

    ports: Int64s
    slots: Int64s
    latency: Int64s
    busy: Int64s
    first_wait: Int64s
    producer: Int64s
    iterations: Int64s
    cycles: Int64s


class KernelPolicy(NamedTuple):
    """`inference.core.simulation.program.SchedulerPolicy` and the core's width, as numbers.

    `interval`: of `SimulatedProgram`, in `INTERVAL_PARTS`.
    """

    ports: int
    width: int
    interval: int
    binding: int
    load_age: int
    load_step: int
    queue: int
    queued: int
    window: int
    writeback_conflicts: bool
    speculative_select: bool
    sharing: Int64s
    buses: Int64s
    completes_in_order: bool


class KernelTimeline(NamedTuple):
    """Cycle of dispatch, port and cycle of issue of every µop in program order, initially NEVER."""

    dispatched: Int64s
    port: Int64s
    issued: Int64s


class _State(NamedTuple):
    """`queues`: the µops that wait at each port, oldest first, `lengths` of them. `loads`: lengths of the
    last cycles. `free_at`: when each port can issue again. `returns`: whether a result bus is busy, by
    cycle. `requested`: when each µop last requested its port. `turn`: of ports, then of each shared bus.
    `last_return`: the latest busy cycle of each shared bus. `bound`: µops bound to each port. `counts`:
    µops that wait, the next to dispatch, the oldest that has not issued, the dispatch slots left in this
    cycle, and the latest cycle in which a result returns.
    """

    queues: Int64s
    lengths: Int64s
    loads: Int64s
    free_at: Int64s
    returns: Int64s
    requested: Int64s
    turn: Int64s
    last_return: Int64s
    bound: Int64s
    counts: Int64s
    random: Integers


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
    state = _State(
        np.zeros((policy.ports, policy.queued + 1), dtype=np.int64),
        np.zeros(policy.ports, dtype=np.int64),
        np.zeros((_LOAD_HISTORY, policy.ports), dtype=np.int64),
        np.zeros(policy.ports, dtype=np.int64),
        np.zeros((policy.ports, _CALENDAR_CYCLES), dtype=np.int64),
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
    state: _State,
    timeline: KernelTimeline,
    max_cycles: Number,
) -> Number:
    """`run` from an empty state; returns the elapsed cycles."""
    total, cycle = timeline.issued.size, 0
    while cycle < max_cycles:
        if policy.binding == AT_ISSUE:
            _issue_oldest(program, policy, state, timeline, cycle)
        elif policy.binding != IN_ORDER:
            for port in range(policy.ports):
                if state.free_at[port] <= cycle:
                    _issue_from(port, program, policy, state, timeline, cycle)
        oldest = state.counts[_OLDEST]
        while oldest < state.counts[_NEXT] and timeline.issued[oldest] != NEVER:
            oldest += 1
        state.counts[_OLDEST] = oldest
        if oldest == total:
            return cycle + 1
        dispatched = state.counts[_NEXT]
        _dispatch(program, policy, state, timeline, cycle, total)
        following = cycle + 1
        if state.counts[_NEXT] == dispatched:
            following = _next_event(program, policy, state, timeline, cycle, total)
        for passed in range(cycle, min(following, cycle + _CALENDAR_CYCLES)):
            for port in range(policy.ports):
                state.returns[port, passed % _CALENDAR_CYCLES] = 0  # from now on the place of a later cycle
                state.loads[(passed + 1) % _LOAD_HISTORY, port] = state.lengths[port]
        cycle = following
    return max_cycles


@inlined
def _next_event(
    program: KernelProgram,
    policy: KernelPolicy,
    state: _State,
    timeline: KernelTimeline,
    cycle: Number,
    total: Number,
) -> Number:
    """The next cycle in which anything may happen, after one in which nothing was dispatched."""
    counts, following = state.counts, _FAR
    for port in range(policy.ports):
        for k in range(state.lengths[port]):
            following = min(following, _ready_at(state.queues[port, k], program, timeline.issued))
    uop = counts[_NEXT]
    if counts[_BUDGET] <= 0:
        return cycle + 1
    if uop < total and uop - counts[_OLDEST] < policy.window:
        iteration, position = uop // program.ports.size, uop % program.ports.size
        if position == 0 and cycle * INTERVAL_PARTS < iteration * policy.interval:
            following = min(following, -(-iteration * policy.interval // INTERVAL_PARTS))
        elif policy.binding == IN_ORDER:
            following = min(following, _ready_at(uop, program, timeline.issued))
        elif counts[_WAITING] < policy.queued:
            for port in range(policy.ports):
                if program.ports[position] >> port & 1 and state.lengths[port] < policy.queue:
                    return cycle + 1  # the µop was bound to another port, without room, and may get this one
    return max(following, cycle + 1)


@inlined
def _issue_from(
    port: Number,
    program: KernelProgram,
    policy: KernelPolicy,
    state: _State,
    timeline: KernelTimeline,
    cycle: Number,
) -> None:
    """Issue the oldest µop that requests a port, unless its slot is lost."""
    queue, length = state.queues[port], state.lengths[port]
    granted, is_ready = NEVER, False
    for k in range(length):
        ready = _ready_at(queue[k], program, timeline.issued) <= cycle
        if ready:
            state.requested[queue[k]] = cycle
        if granted == NEVER and (
            ready
            or (
                policy.speculative_select
                and _is_woken(queue[k], program, timeline.issued, state.requested, cycle)
            )
        ):
            granted, is_ready = k, ready
            if not policy.speculative_select:
                break  # without it, requests in vain have no effect
    if granted == NEVER or not is_ready:  # a µop that was selected too early costs its port this cycle
        return
    uop = queue[granted]
    if _is_bus_busy(port, uop, program, policy, state, cycle):
        return
    for k in range(granted, length - 1):
        queue[k] = queue[k + 1]
    state.lengths[port] -= 1
    _record_issue(uop, port, program, policy, state, timeline, cycle)


@inlined
def _issue_oldest(
    program: KernelProgram, policy: KernelPolicy, state: _State, timeline: KernelTimeline, cycle: Number
) -> None:
    """Issue all µops that are ready and get a port, the oldest first; all wait in the first queue."""
    queue, length, remaining = state.queues[0], state.lengths[0], 0
    for k in range(length):
        uop, port = queue[k], NEVER
        if _ready_at(uop, program, timeline.issued) <= cycle:
            port = _free_port(uop, program, policy, state, cycle)
        if port == NEVER:
            queue[remaining] = uop
            remaining += 1
        else:
            _record_issue(uop, port, program, policy, state, timeline, cycle)
    state.lengths[0] = remaining


@inlined
def _free_port(
    uop: Number, program: KernelProgram, policy: KernelPolicy, state: _State, cycle: Number
) -> Number:
    """A port that can issue the µop now, NEVER without one; the first port to be tried rotates."""
    mask = program.ports[uop % program.ports.size]
    for k in range(policy.ports):
        port = (state.turn[0] + k) % policy.ports
        if mask >> port & 1 and state.free_at[port] <= cycle:
            if _is_bus_busy(port, uop, program, policy, state, cycle):
                continue
            state.turn[0] += 1
            return port
    return NEVER


@inlined
def _record_issue(
    uop: Number,
    port: Number,
    program: KernelProgram,
    policy: KernelPolicy,
    state: _State,
    timeline: KernelTimeline,
    cycle: Number,
) -> None:
    """Mark the port and a result bus as busy."""
    timeline.issued[uop], timeline.port[uop] = cycle, port
    state.counts[_WAITING] -= 1
    position = uop % program.ports.size
    state.free_at[port] = cycle + program.busy[position]
    returns_at = cycle + program.latency[position]
    bus = port
    shared = _shared_bus(port, program.latency[position], policy)
    if shared != NEVER:
        if state.last_return[shared] == returns_at:
            return
        state.last_return[shared] = returns_at
        bus = state.turn[1 + shared]
        while not policy.buses[shared] >> bus & 1:
            bus = (bus + 1) % policy.ports
        state.turn[1 + shared] = (bus + 1) % policy.ports
    state.returns[bus, returns_at % _CALENDAR_CYCLES] = 1


@inlined
def _is_bus_busy(
    port: Number, uop: Number, program: KernelProgram, policy: KernelPolicy, state: _State, cycle: Number
) -> bool:
    """Whether another result returns on the same bus in the same cycle as that of the µop would."""
    latency = program.latency[uop % program.ports.size]
    if not policy.writeback_conflicts or _shared_bus(port, latency, policy) != NEVER:
        return False
    return bool(state.returns[port, (cycle + latency) % _CALENDAR_CYCLES])


@inlined
def _shared_bus(port: Number, latency: Number, policy: KernelPolicy) -> Number:
    """The index of the shared result bus of a result, NEVER where it uses that of its own port."""
    if latency > 1:
        for shared in range(policy.sharing.size):
            if policy.sharing[shared] >> port & 1:
                return shared
    return NEVER


@inlined
def _dispatch(
    program: KernelProgram,
    policy: KernelPolicy,
    state: _State,
    timeline: KernelTimeline,
    cycle: Number,
    total: Number,
) -> None:
    """Put the next µops into queues, as many as the width and their room allow."""
    counts = state.counts
    # Slots that were left do not carry over; slots that a wide µop took beyond the width are owed.
    counts[_BUDGET] = min(counts[_BUDGET], 0) + policy.width
    while counts[_NEXT] < total and counts[_BUDGET] > 0:
        uop = counts[_NEXT]
        if uop - counts[_OLDEST] >= policy.window:
            return
        position = uop % program.ports.size
        if position == 0 and cycle * INTERVAL_PARTS < uop // program.ports.size * policy.interval:
            return
        if policy.binding == IN_ORDER and program.ports[position]:
            returns_at = cycle + program.latency[position]
            overtakes = policy.completes_in_order and returns_at < counts[_RETURNED]
            if overtakes or _ready_at(uop, program, timeline.issued) > cycle:
                return
            port = _free_port(uop, program, policy, state, cycle)
            if port == NEVER:
                return
            counts[_RETURNED] = max(counts[_RETURNED], returns_at)
            counts[_WAITING] += 1  # which its issue takes back
            _record_issue(uop, port, program, policy, state, timeline, cycle)
        elif program.ports[position]:
            if counts[_WAITING] >= policy.queued:
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
            counts[_WAITING] += 1
        else:
            timeline.issued[uop] = cycle
        timeline.dispatched[uop] = cycle
        counts[_BUDGET] -= program.slots[position]
        counts[_NEXT] += 1


@inlined
def _bound_port(mask: Number, policy: KernelPolicy, state: _State, cycle: Number) -> Number:
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
    best, lowest_load, ties = NEVER, _FAR, 0
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
def _ready_at(uop: Number, program: KernelProgram, issued: Int64s) -> Number:
    """The cycle from which on a µop has all its values; far in the future while a producer has not issued."""
    n = program.ports.size
    position, iteration = uop % n, uop // n
    ready = 0
    for k in range(program.first_wait[position], program.first_wait[position + 1]):
        source_iteration = iteration - program.iterations[k]
        if source_iteration < 0:
            continue
        issued_at = issued[source_iteration * n + program.producer[k]]
        if issued_at == NEVER:
            return _FAR
        ready = max(ready, issued_at + program.cycles[k])
    return ready


@inlined
def _is_woken(uop: Number, program: KernelProgram, issued: Int64s, requested: Int64s, cycle: Number) -> bool:
    """Whether all missing values come from one-cycle producers that requested a port in the last cycle."""
    n = program.ports.size
    position, iteration = uop % n, uop // n
    for k in range(program.first_wait[position], program.first_wait[position + 1]):
        source_iteration = iteration - program.iterations[k]
        if source_iteration < 0:
            continue
        producer = source_iteration * n + program.producer[k]
        if issued[producer] != NEVER:
            if issued[producer] + program.cycles[k] > cycle:
                return False
        elif program.cycles[k] != 1 or requested[producer] != cycle - 1:
            return False
    return True


@inlined
def _random_below(state: Integers, below: Number) -> Number:
    """A random number from 0 to `below` − 1 (xorshift64)."""
    bits = state[0]
    bits ^= bits << np.uint64(13)
    bits ^= bits >> np.uint64(7)
    bits ^= bits << np.uint64(17)
    state[0] = bits
    return np.int64((bits >> np.uint64(33)) % np.uint64(below))
