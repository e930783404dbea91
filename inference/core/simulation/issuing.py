"""Ports issue µops: the state of a simulated scheduler, and who issues in a cycle. Loads numba."""

from __future__ import annotations

from typing import NamedTuple

from inference.core.compiling import inlined
from inference.core.kernels.layout import Number
from inference.core.simulation.program import MAX_LATENCY
from inference.core.tables import Int64s, Integers

NEVER = -1
FAR = 1 << 60
"""Later than any cycle."""

CALENDAR_CYCLES = MAX_LATENCY + 1
"""Cycles ahead for which result buses are booked, cyclically."""

WAITING, NEXT, OLDEST, BUDGET, RETURNED = 0, 1, 2, 3, 4
"""Places in `KernelState.counts`."""


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


class KernelState(NamedTuple):
    """What is at work in a cycle.

    Attributes:
        queues: The µops that wait at each port, oldest first, `lengths` of them.
        lengths: Of the queues.
        loads: Those of the last cycles.
        free_at: When each port can issue again.
        returns: Whether a result bus is busy, by port and cycle.
        requested: When each µop last requested its port.
        turn: Of ports, then of each shared bus.
        last_return: The latest busy cycle of each shared bus.
        bound: µops bound to each port.
        counts: Numbers at the places `WAITING` (µops in queues), `NEXT` (the next to dispatch), `OLDEST`
            (that has not issued), `BUDGET` (dispatch slots left in this cycle) and `RETURNED` (the latest
            cycle in which a result returns).
        random: State of the random numbers.
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


@inlined
def issue_from(
    port: Number,
    program: KernelProgram,
    policy: KernelPolicy,
    state: KernelState,
    timeline: KernelTimeline,
    cycle: Number,
) -> None:
    """Issue the oldest µop that requests a port, unless its slot is lost."""
    queue, length = state.queues[port], state.lengths[port]
    granted, is_ready = NEVER, False
    for k in range(length):
        ready = ready_at(queue[k], program, timeline.issued) <= cycle
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
    record_issue(uop, port, program, policy, state, timeline, cycle)


@inlined
def issue_oldest(
    program: KernelProgram, policy: KernelPolicy, state: KernelState, timeline: KernelTimeline, cycle: Number
) -> None:
    """Issue all µops that are ready and get a port, the oldest first; all wait in the first queue."""
    queue, length, remaining = state.queues[0], state.lengths[0], 0
    for k in range(length):
        uop, port = queue[k], NEVER
        if ready_at(uop, program, timeline.issued) <= cycle:
            port = free_port(uop, program, policy, state, cycle)
        if port == NEVER:
            queue[remaining] = uop
            remaining += 1
        else:
            record_issue(uop, port, program, policy, state, timeline, cycle)
    state.lengths[0] = remaining


@inlined
def free_port(
    uop: Number, program: KernelProgram, policy: KernelPolicy, state: KernelState, cycle: Number
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
def record_issue(
    uop: Number,
    port: Number,
    program: KernelProgram,
    policy: KernelPolicy,
    state: KernelState,
    timeline: KernelTimeline,
    cycle: Number,
) -> None:
    """Mark the port and a result bus as busy."""
    timeline.issued[uop], timeline.port[uop] = cycle, port
    state.counts[WAITING] -= 1
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
    state.returns[bus, returns_at % CALENDAR_CYCLES] = 1


@inlined
def _is_bus_busy(
    port: Number, uop: Number, program: KernelProgram, policy: KernelPolicy, state: KernelState, cycle: Number
) -> bool:
    """Whether another result returns on the same bus in the same cycle as that of the µop would."""
    latency = program.latency[uop % program.ports.size]
    if not policy.writeback_conflicts or _shared_bus(port, latency, policy) != NEVER:
        return False
    return bool(state.returns[port, (cycle + latency) % CALENDAR_CYCLES])


@inlined
def _shared_bus(port: Number, latency: Number, policy: KernelPolicy) -> Number:
    """The index of the shared result bus of a result, NEVER where it uses that of its own port."""
    if latency > 1:
        for shared in range(policy.sharing.size):
            if policy.sharing[shared] >> port & 1:
                return shared
    return NEVER


@inlined
def ready_at(uop: Number, program: KernelProgram, issued: Int64s) -> Number:
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
            return FAR
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
