"""The analysis of a block on a core model.

A property that the nearest scheme gives counts as measured; the instruction names the substitution. What is
still unknown is left out of the least cycles of a bound, and leaves its greatest cycles open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inference.core.core_model.dependences import (
    DependenceGraph,
    Edge,
    components,
)
from inference.core.core_model.model import known_latencies
from inference.core.core_model.port_work import Work, total_work
from inference.core.core_model.prediction import (
    BoundKind,
    CoreBound,
    CorePrediction,
)
from inference.core.loop.modelled import ModelledBlock, dependence_key, location_name
from inference.core.loop.simulated import CannotSimulateError, simulated_block
from inference.core.loop.values import (
    CycleRange,
    Dependence,
    InstructionAnalysis,
    LoopAnalysis,
    LoopBound,
    UnknownPart,
)
from inference.core.schedule import distribution
from inference.core.simulation.steady_state import simulate

_UOP_PARTS = 1000
"""Parts of a µop in which fractions are distributed over ports."""
_FUSED = "fused with the next"
_ELIMINATED = "eliminated"
_IDIOM = "no port: equal registers"


def analyse(modelled: ModelledBlock) -> LoopAnalysis:
    """All that the core model says about a block."""
    model, prediction, graph = modelled.model, modelled.prediction, modelled.graph
    open_ends = _unknown_in_cycles(graph)
    instructions, loads = _instructions(modelled, graph, prediction)
    bounds = tuple(_bound(bound, graph, open_ends, instructions) for bound in prediction.bounds)
    usual = max((bound.usual for bound in bounds), default=0.0)
    critical = _critical_keys(prediction)
    try:
        simulated = simulated_block(modelled)
        cycles: float | None = simulate(simulated.program, simulated.policy).cycles
    except CannotSimulateError:
        cycles = None
    return LoopAnalysis(
        bounds,
        _largest([bound.cycles for bound in bounds]),
        usual,
        () if model.mapping is None else model.mapping.ports,
        loads,
        instructions,
        _dependences(graph, critical),
        cycles,
        lacking=prediction.lacking,
    )


def _largest(ranges: Sequence[CycleRange]) -> CycleRange:
    low = max((cycles.low for cycles in ranges), default=0.0)
    if any(cycles.high is None for cycles in ranges):
        return CycleRange(low, None)
    return CycleRange(low, max((cycles.high or 0.0 for cycles in ranges), default=0.0))


def _unknown_in_cycles(graph: DependenceGraph) -> list[Edge]:
    """The edges of unknown latency that a chain from iteration to iteration may contain."""
    assumed = [edge for edge in graph.edges if graph.is_assumed(edge)]
    if not assumed:
        return []
    component = {
        node: number
        for number, members in enumerate(components(len(graph.nodes), graph.edges))
        for node in members
    }
    return [edge for edge in assumed if component[edge.source] == component[edge.target]]


def _bound(
    bound: CoreBound,
    graph: DependenceGraph,
    open_ends: Sequence[Edge],
    instructions: Sequence[InstructionAnalysis],
) -> LoopBound:
    low, high = bound.cycles, bound.cycles
    unlimited = False
    if bound.kind in (BoundKind.DEPENDENCES, BoundKind.MEMORY):
        through_memory = bound.kind is BoundKind.MEMORY
        if open_ends and (bound.chain or not through_memory):
            left_out = {id(edge) for edge in open_ends}
            known = [
                replace(edge, cycles=0.0) if id(edge) in left_out else edge
                for edge in graph.edges
                if through_memory or not graph.is_through_memory(edge)
            ]
            low, unlimited = graph.bound(known).cycles, True
    elif bound.kind in (BoundKind.PORTS, BoundKind.SLOTS, BoundKind.INSTRUCTIONS):
        unlimited = any(
            {UnknownPart.PORTS, UnknownPart.SLOTS} & {*instruction.unknown} for instruction in instructions
        )
    return LoopBound(
        bound.kind, CycleRange(low, None if unlimited else high), bound.cycles, bound.why, bound.chain
    )


def _critical_keys(prediction: CorePrediction) -> set[str]:
    chains = [bound for bound in prediction.bounds if bound.chain]
    if not chains:
        return set()
    chain = max(chains, key=lambda bound: bound.cycles).chain
    return {
        dependence_key(chain[k - 1].instruction, step.instruction, step.location)
        for k, step in enumerate(chain)
    }


def _dependences(graph: DependenceGraph, critical: set[str]) -> tuple[Dependence, ...]:
    by_key: dict[str, Dependence] = {}
    for edge in graph.edges:
        producer, consumer = graph.nodes[edge.source][0], graph.nodes[edge.target][0]
        key = dependence_key(producer, consumer, edge.location)
        cycles = None if graph.is_assumed(edge) else edge.cycles
        before = by_key.get(key)
        if before is None or (before.cycles or 0.0) < (cycles or 0.0):
            by_key[key] = Dependence(
                key,
                producer,
                consumer,
                location_name(edge.location),
                edge.iterations,
                cycles,
                graph.basis(edge),
                key in critical,
            )
    return tuple(by_key.values())


def _instructions(
    modelled: ModelledBlock, graph: DependenceGraph, prediction: CorePrediction
) -> tuple[tuple[InstructionAnalysis, ...], tuple[float, ...]]:
    """The instructions, and the load of each port."""
    model, mapping = modelled.model, modelled.model.mapping
    block = modelled.accesses
    if mapping is None:
        works: list[Work | None] = [None] * len(modelled.block.listing)
        pressures: list[tuple[float, ...] | None] = [*works]
        loads: tuple[float, ...] = ()
    else:
        works = modelled.works
        pressures, loads = _pressures(works, len(mapping.ports))
    chains = [bound for bound in prediction.bounds if bound.chain]
    on_chain: dict[int, float] = {}
    for step in max(chains, key=lambda bound: bound.cycles).chain if chains else ():
        on_chain[step.instruction] = on_chain.get(step.instruction, 0.0) + step.cycles
    assumed = {graph.nodes[edge.target][0] for edge in graph.edges if graph.is_assumed(edge)}
    result = []
    for place, (instruction, text) in enumerate(modelled.block.listing):
        scheme = instruction.scheme or ""
        is_jump = place >= len(block)
        unknown = []
        if works[place] is None and not is_jump:
            unknown = [UnknownPart.PORTS, UnknownPart.SLOTS]
        if place in assumed:
            unknown.append(UnknownPart.LATENCY)
        work = works[place]
        latencies = known_latencies(model.latencies.get(scheme, {}))
        substitutions = modelled.substitutions.get(scheme, ())
        result.append(
            InstructionAnalysis(
                text,
                scheme,
                len(instruction.code),
                None
                if work is None or mapping is None
                else ()
                if not work
                else mapping.usage.get(scheme, ()),
                pressures[place],
                None if work is None else float(mapping.slots_of(scheme)) if mapping else None,
                on_chain.get(place),
                max((cycles for _, cycles in latencies), default=None),
                tuple(unknown),
                substitutions[0] if substitutions else None,
            )
        )
    return tuple(result), loads


def _pressures(
    works: Sequence[Work | None], ports: int
) -> tuple[list[tuple[float, ...] | None], tuple[float, ...]]:
    """The cycles of each instruction on each port in a fair optimal distribution, and their sums."""
    total = {mask: round(_UOP_PARTS * uops) for mask, uops in total_work(works).items()}
    spread = distribution({mask: parts for mask, parts in total.items() if parts}, ports)
    shares: dict[int, list[tuple[int, float]]] = {}
    for (mask, port), amount in spread.shares.items():
        shares.setdefault(mask, []).append((port, amount / total[mask]))
    pressures: list[tuple[float, ...] | None] = []
    for work in works:
        if work is None:
            pressures.append(None)
            continue
        cycles = [0.0] * ports
        for mask, uops in work.items():
            for port, share in shares.get(mask, ()):
                cycles[port] += uops * share
        pressures.append(tuple(cycles))
    return pressures, tuple(load / _UOP_PARTS for load in spread.loads)
