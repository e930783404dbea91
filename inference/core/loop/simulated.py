"""A block on the core's simulated scheduler, and why it takes longer there, or shorter, than its bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import ceil

import numpy as np

from inference.core.core_model.critical_cycles import Edge
from inference.core.core_model.dependences import DependenceGraph
from inference.core.core_model.memory_bounds import ports_of_loads
from inference.core.core_model.port_work import UOP_PARTS, Work, port_work, total_work
from inference.core.core_model.prediction import BoundKind, is_nop, own_jumps, paired_nops
from inference.core.core_model.simulated_program import (
    UndescribedSchemeError,
    dispatch_width,
    program_of,
)
from inference.core.loop.modelled import ModelledBlock
from inference.core.mapping import PortMapping
from inference.core.schedule import distribution
from inference.core.simulation.program import Binding, SchedulerPolicy, SimulatedProgram
from inference.core.simulation.steady_state import Simulation, is_compiled
from inference.core.simulation.timeline import DispatchStall, PortDelay, timeline_of

_NOT_SIMULATED = frozenset(
    {BoundKind.PORTS, BoundKind.SLOTS, BoundKind.INSTRUCTIONS, BoundKind.SCHEDULER, BoundKind.ORDER}
)

_PLAIN_POLICY = SchedulerPolicy(binding=Binding.AT_ISSUE)
"""Of a core whose scheduler was not measured: the oldest ready µops issue first, on the ports that an optimal
distribution gives them. It wastes little, since nothing shows that the core wastes more.
"""


class CannotSimulateError(ValueError):
    """A core model does not allow a block to be simulated; the message says what is lacking."""


@dataclass(frozen=True)
class SimulatedBlock:
    """A block as a loop body for `inference.core.simulation.steady_state.simulate`.

    `is_measured`: whether the policy is that of the core, rather than one that wastes nothing.
    """

    program: SimulatedProgram
    policy: SchedulerPolicy
    is_measured: bool


def simulated_block(modelled: ModelledBlock) -> SimulatedBlock:
    """The block on the core's scheduler, or on one that wastes nothing.

    Instructions of the program count as in `Block.listing`; a fused jump is not among them unless its ports
    are known. Fetching, decoding, rates that are no whole numbers, and the cache's throughput delay whole
    iterations (`interval`).

    Raises:
        CannotSimulateError: Ports, µops or the core's width are not known, or are left out; or the simulation
            would have to be compiled first, and may not.
    """
    model, shape = modelled.model, modelled.shape
    scheduler = None if model.issues_in_order else model.scheduler
    if not modelled.may_compile and not is_compiled():  # then that of the scheduler is left out, too
        raise CannotSimulateError("the simulation is still being compiled: try again in a minute")
    if excluded := _NOT_SIMULATED & {*modelled.without}:
        raise CannotSimulateError(f"the bounds of {', '.join(sorted(excluded))} are left out")
    if model.mapping is None:
        raise CannotSimulateError("the core model has no ports")
    width = dispatch_width(model) if scheduler is None else scheduler.width
    if width is None:
        raise CannotSimulateError(
            "the number of instructions that the core starts per cycle was not measured"
        )
    works = _simulated_works(modelled, model.mapping)
    if scheduler is None and not model.issues_in_order:
        works = _on_optimal_ports(works, len(model.mapping.ports))

    def edges_of(graph: DependenceGraph) -> list[Edge]:
        kinds = {True: BoundKind.MEMORY, False: BoundKind.DEPENDENCES}
        return [edge for edge in graph.edges if kinds[graph.is_through_memory(edge)] not in modelled.without]

    try:
        program = program_of(
            modelled.accesses,
            model,
            width,
            jumps=own_jumps(shape, model),
            copies=shape.copies,
            works=works,
            interval=_interval(modelled),
            edges_of=edges_of,
        )
    except UndescribedSchemeError as error:
        raise CannotSimulateError(str(error)) from None
    program = _with_shared_slots(modelled, program)
    if model.issue is not None and model.issue.in_order:
        return SimulatedBlock(program, model.issue.policy, is_measured=True)
    policy = _PLAIN_POLICY if scheduler is None else scheduler.policy
    return SimulatedBlock(program, policy, scheduler is not None)


def _with_shared_slots(modelled: ModelledBlock, program: SimulatedProgram) -> SimulatedProgram:
    """The program without the slots of moves that are fused and of NOPs that share one."""
    block, model = modelled.accesses, modelled.model
    nops = [place for place, row in enumerate(block) if is_nop(row)]
    without = {*nops[: int(paired_nops(block, model))], *modelled.fused - {len(block) - 1}}
    if not without:
        return program
    uops = tuple(replace(uop, slots=0) if uop.instruction in without else uop for uop in program.uops)
    return replace(program, uops=uops)


def _on_optimal_ports(works: Sequence[Work | None], ports: int) -> list[Work | None]:
    """The works, each on the ports on which an optimal distribution puts it."""
    parts = {mask: round(UOP_PARTS * uops) for mask, uops in total_work(works).items()}
    narrowed: dict[int, int] = {}
    for mask, port in distribution(parts, ports).shares:
        narrowed[mask] = narrowed.get(mask, 0) | 1 << port
    result: list[Work | None] = []
    for work in works:
        counts: Counter[int] = Counter()
        for mask, uops in (work or {}).items():
            counts[narrowed[mask]] += ceil(uops)
        result.append(None if work is None else {**counts})
    return result


def _simulated_works(modelled: ModelledBlock, mapping: PortMapping) -> Sequence[Work | None]:
    """The work of each instruction in whole µops.

    A store that shares a cycle with the one before can go to all ports of loads, or needs none: the interval
    has the throughput of stores. Where only the time of a scheme alone is known, the interval has that time.
    """
    model = modelled.model
    loading = ports_of_loads(mapping) or 0
    works: list[Work | None] = []
    alone = port_work(modelled.accesses, modelled.shape, model, mapping)
    for place, (shared, alone_work) in enumerate(zip_longest(modelled.works, alone)):
        if alone_work is None:
            scheme = modelled.accesses[place].scheme if place < len(modelled.accesses) else ""
            works.append({} if place == len(modelled.accesses) or scheme in model.alone else None)
            continue
        work: dict[int, float] = {}
        for mask, uops in alone_work.items():
            is_shared = shared is not None and shared.get(mask, 0.0) < uops
            ports = mask if not is_shared else loading if loading & mask else 0
            if ports:
                work[ports] = work.get(ports, 0.0) + uops
        works.append(work)
    return works


def _interval(modelled: ModelledBlock) -> float:
    """Cycles per iteration of what is not simulated."""
    kinds = {BoundKind.FRONT_END, BoundKind.SLOTS, BoundKind.INSTRUCTIONS}
    if any(work is None for work in modelled.works[: len(modelled.accesses)]):
        kinds.add(BoundKind.PORTS)  # of schemes of which the time alone is known
    bounds = [bound.cycles for bound in modelled.prediction.bounds if bound.kind in kinds]
    return max([modelled.memory_throughput, *bounds])


TOLERANCE = 0.03
"""Relative difference up to which simulation and bounds agree."""
_FULL = 0.95
"""Share of the cycles from which on a port is busy all the time."""
_MAX_NAMES = 3
_DELAYS = {
    PortDelay.OCCUPIED: "µops wait for ports that others occupy",
    PortDelay.RESULT_BUS: "results that return in one cycle share a bus",
    PortDelay.LOST_SLOT: "ports lose slots to µops that were selected before their values were there",
}
_STALLS = {
    DispatchStall.WINDOW: "the core does not look far enough ahead",
    DispatchStall.SCHEDULER: "the scheduler is full",
    DispatchStall.QUEUE: "the queue of a port is full",
}


def waste_note(
    modelled: ModelledBlock, simulated: SimulatedBlock, simulation: Simulation, usual: float
) -> str:
    """Why the simulation and the bounds differ by more than `TOLERANCE`, as a sentence; "" where not.

    Args:
        modelled: The block.
        simulated: Its program and policy.
        simulation: Simulation of the program.
        usual: The largest bound.
    """
    cycles = simulation.cycles
    if abs(cycles - usual) <= TOLERANCE * usual:
        return ""
    edges = modelled.graph.edges
    rounded = modelled.graph.bound([replace(edge, cycles=round(edge.cycles)) for edge in edges]).cycles
    if abs(cycles - rounded) <= TOLERANCE * rounded:
        return "The simulation rounds latencies to whole cycles."
    if cycles < usual:
        return ""
    return _uneven_ports(modelled, simulated, simulation) or _most_frequent_delay(simulated)


def _uneven_ports(modelled: ModelledBlock, simulated: SimulatedBlock, simulation: Simulation) -> str:
    """The port that is always busy, though other ports could do a part of its work; "" without one."""
    uops = simulated.program.uops
    steady = simulation.port[len(simulation.port) // 2 :]
    busy = np.array([uop.busy for uop in uops])
    loads = [float((busy * (steady == port)).sum()) / len(steady) for port in range(simulated.program.ports)]
    port = int(np.argmax(loads))
    if loads[port] < _FULL * simulation.cycles:
        return ""
    executed = (steady == port).sum(axis=0)
    counts: Counter[str] = Counter()
    for uop, count in zip(uops, executed, strict=True):
        counts[modelled.mnemonic(uop.instruction)] += int(count)
    names = ", ".join(f"`{name}`" for name, count in counts.most_common(_MAX_NAMES) if count)
    allowed = max(
        (bound.cycles for bound in modelled.prediction.bounds if bound.kind is BoundKind.PORTS), default=0.0
    )
    return (
        f"The scheduler gives port {modelled.ports[port]} {loads[port]:.2f} µops per iteration ({names}), "
        f"where an even distribution has {allowed:.2f}."
    )


def _most_frequent_delay(simulated: SimulatedBlock) -> str:
    timeline = timeline_of(simulated.program, simulated.policy)
    delays = {text: int((timeline.delay == kind).sum()) for kind, text in _DELAYS.items()}
    stalls = {text: int((timeline.stall == kind).sum()) for kind, text in _STALLS.items()}
    text, count = max([*delays.items(), *stalls.items()], key=lambda pair: pair[1])
    return f"In the simulation, {text}." if count else ""
