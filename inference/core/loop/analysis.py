"""The analysis of a block on a core model.

A property that the nearest scheme gives counts as measured: it is part of the bounds, and the instruction
names the substitution. What is still unknown is left out of the least cycles of a bound, and leaves the
greatest ones open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from inference.core.core_model.bounds import BUSIEST_PORTS, times_alone
from inference.core.core_model.critical_cycles import Edge, components
from inference.core.core_model.dependences import ASSUMED_BASIS, AT_MOST_BASIS, DependenceGraph
from inference.core.core_model.port_work import busiest_ports, total_work
from inference.core.core_model.prediction import BoundKind, CoreBound
from inference.core.loop.instructions import instructions_of, unmapped_places
from inference.core.loop.modelled import (
    ModelledBlock,
    critical_chain,
    critical_keys,
    key_of_edge,
    location_name,
)
from inference.core.loop.remedies import remedies_of
from inference.core.loop.simulated import CannotSimulateError, simulated_block, waste_note
from inference.core.loop.values import CycleRange, Dependence, LoopAnalysis, LoopBound
from inference.core.simulation.steady_state import simulate

_CHAINS = (BoundKind.DEPENDENCES, BoundKind.MEMORY)


def analyse(modelled: ModelledBlock) -> LoopAnalysis:
    """All that the core model says about a block."""
    bounds = loop_bounds(modelled, unmapped_places(modelled))
    usual = max((bound.usual for bound in bounds), default=0.0)
    chain = critical_chain(modelled.prediction)
    instructions, loads = instructions_of(modelled, chain)
    cycles, note = None, ""
    try:
        simulated = simulated_block(modelled)
    except CannotSimulateError:
        pass
    else:
        simulation = simulate(simulated.program, simulated.policy)
        cycles = simulation.cycles
        note = waste_note(modelled, simulated, simulation, usual)
    return LoopAnalysis(
        bounds,
        range_of(modelled, bounds),
        usual,
        modelled.ports,
        loads,
        instructions,
        _dependences(modelled.graph, critical_keys(chain, modelled.block.isa), modelled.block.isa),
        cycles,
        note,
        remedies_of(modelled, bounds),
        modelled.prediction.lacking,
        _lacks_part(modelled) or any(bound.is_unknown for bound in bounds),
        () if modelled.model.mapping is None else modelled.model.mapping.ports,
    )


def _dependences(graph: DependenceGraph, critical: Collection[str], isa: str) -> tuple[Dependence, ...]:
    """The edges of a graph by instructions instead of operands; of several, the longest.

    Where a result of an instruction waits for itself, its other results are no part of that cycle.
    """
    by_key: dict[str, Dependence] = {}
    recurrent_values = {edge.source for edge in graph.edges if edge.source == edge.target}
    for edge in graph.edges:
        source, target = graph.nodes[edge.source][0], graph.nodes[edge.target][0]
        if edge.source in recurrent_values and source == target and edge.source != edge.target:
            continue
        key = key_of_edge(graph, edge, isa)
        cycles = None if graph.is_assumed(edge) else edge.cycles
        before = by_key.get(key)
        if before is None or (before.cycles or 0.0) < (cycles or 0.0):
            by_key[key] = Dependence(
                key,
                source,
                target,
                location_name(edge.location, isa),
                edge.iterations,
                cycles,
                graph.basis(edge),
                key in critical,
            )
    return tuple(by_key.values())


def loop_bounds(modelled: ModelledBlock, places: Collection[int]) -> tuple[LoopBound, ...]:
    """The bounds of a block, the largest `usual` first.

    Args:
        modelled: The block.
        places: Instructions whose ports are not known.
    """
    bounds = [_bound(modelled, bound, len(places)) for bound in modelled.prediction.bounds]
    return tuple(sorted(bounds, key=lambda bound: -bound.usual))


_SIMULATED = (BoundKind.SCHEDULER, BoundKind.ORDER)


def range_of(modelled: ModelledBlock, bounds: Sequence[LoopBound]) -> CycleRange:
    """The range of the largest bound; open where a core model lacks a whole part that was not left out.

    A simulation says what a core usually needs, not at least: of an open range it is no end.
    """
    highest = [bound.cycles.high for bound in bounds]
    upper_ends = [high for high in highest if high is not None]
    is_open = _lacks_part(modelled) or len(upper_ends) < len(highest)
    lower_ends = [bound.cycles.low for bound in bounds if not (is_open and bound.kind in _SIMULATED)]
    low = max(lower_ends, default=0.0)
    return CycleRange(low, None if is_open else max(upper_ends, default=low))


def _lacks_part(modelled: ModelledBlock) -> bool:
    model, without = modelled.model, modelled.without
    return (model.mapping is None and BoundKind.PORTS not in without) or (
        model.front_end is None and BoundKind.FRONT_END not in without
    )


def _bound(modelled: ModelledBlock, bound: CoreBound, unmapped: int) -> LoopBound:
    low = usual = bound.cycles
    is_open = False
    by_values: list[int] = []
    mapping = modelled.model.mapping
    if bound.kind in _CHAINS:
        low, is_open = _chain_range(modelled, bound)
        places = {step.instruction for step in bound.chain}
        by_values = [place for place in sorted(places) if modelled.accesses[place].by_values]
    elif bound.kind is BoundKind.PORTS:
        is_open = unmapped > 0
        by_values = _port_users_by_values(modelled)
        if is_open or by_values:
            low = _certain_ports(modelled)
    elif bound.kind in (BoundKind.SLOTS, BoundKind.INSTRUCTIONS) and mapping is not None:
        rate = mapping.issue_width if bound.kind is BoundKind.SLOTS else mapping.r_max
        unknown = sum(
            work is None and instruction.scheme not in modelled.model.alone
            for work, instruction in zip(modelled.works, modelled.accesses, strict=False)
        )
        low = usual = bound.cycles + (unknown / rate if rate else 0.0)  # each takes one slot at least
        is_open = unmapped > 0
    cycles = CycleRange(min(low, usual), None if is_open or by_values else usual)
    why, ports = bound.why, modelled.busiest_ports
    if why == BUSIEST_PORTS and ports:
        why = f"port{'s' if len(ports) > 1 else ''} {', '.join(ports)}"
    return LoopBound(bound.kind, cycles, usual, why, bound.chain, tuple(by_values), is_open)


def _certain_ports(modelled: ModelledBlock) -> float:
    """The cycles of the ports at least.

    Instructions whose time depends on values may need one µop of each kind, where a measurement with other
    values shows more, and need not take as long as they did alone. Nor do those that store: alone they were
    measured with another cache line each time.
    """
    block, works = modelled.accesses, [*modelled.works]
    for place, instruction in enumerate(block):
        work = works[place]
        if instruction.by_values and work is not None:
            works[place] = {mask: min(uops, 1.0) for mask, uops in work.items()}
    steady = [
        instruction
        for instruction in block
        if not instruction.by_values and all(access.memory is None for access in instruction.writes)
    ]
    alone = times_alone(steady, modelled.model, modelled.stores)
    return max([busiest_ports(total_work(works)), *(bound.cycles for bound in alone)])


def _port_users_by_values(modelled: ModelledBlock) -> list[int]:
    """The instructions whose time depends on values and that occupy a port for more than a cycle."""
    alone = modelled.model.alone
    return [
        place
        for place, instruction in enumerate(modelled.accesses)
        if instruction.by_values
        and (
            any(uops > 1 for uops in (modelled.works[place] or {}).values())
            or (modelled.works[place] is None and instruction.scheme in alone)
        )
    ]


def _chain_range(modelled: ModelledBlock, bound: CoreBound) -> tuple[float, bool]:
    """The least cycles of a bound of chains, and whether an unknown latency may make it larger."""
    graph = modelled.graph
    through_memory = bound.kind is BoundKind.MEMORY
    if not bound.chain and through_memory:
        return bound.cycles, False
    edges = [edge for edge in graph.edges if through_memory or not graph.is_through_memory(edge)]
    inexact = _inexact_in_cycles(graph, edges)
    if not inexact:
        return bound.cycles, False
    lower_end = _least_of(modelled)
    cycles = graph.bound([lower_end(edge) if id(edge) in inexact else edge for edge in edges]).cycles
    return cycles, any(inexact.values())


def _inexact_in_cycles(graph: DependenceGraph, edges: Sequence[Edge]) -> dict[int, bool]:
    """{id of an edge: its latency is unknown, rather than at most what it has}, of those that are part of a
    chain from iteration to iteration.
    """
    inexact = {
        id(edge): graph.is_assumed(edge)
        for edge in edges
        if graph.basis(edge).startswith((ASSUMED_BASIS, AT_MOST_BASIS))
    }
    if not inexact:
        return {}
    component = {
        node: number for number, nodes in enumerate(components(len(graph.nodes), edges)) for node in nodes
    }
    inside = {id(edge) for edge in edges if component[edge.source] == component[edge.target]}
    return {edge: is_unknown for edge, is_unknown in inexact.items() if edge in inside}


def _least_of(modelled: ModelledBlock) -> Callable[[Edge], Edge]:
    """A function that gives an edge its least cycles: of a load those of the cache, one of what is known to
    need a port, else none. Nor of moves: an inference may take the slots of eliminated ones for ports.
    """
    model, graph = modelled.model, modelled.graph

    def least(edge: Edge) -> Edge:
        place, _ = graph.nodes[edge.target]
        instruction = modelled.accesses[place]
        if instruction.loads and edge.operand.endswith("address") and model.latencies:
            cycles = model.memory.load
        else:
            is_move = instruction.moves or instruction.only_loads
            takes_part = modelled.works[place] and not instruction.same_register and not is_move
            cycles = 1.0 if takes_part else 0.0
        return replace(edge, cycles=min(cycles, edge.cycles))

    return least
