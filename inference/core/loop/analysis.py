"""The analysis of a block on a core model.

A property that the nearest scheme gives counts as measured: it is part of the bounds, and the instruction
names the substitution. What is still unknown makes ranges of the bounds (`ranges`).
"""

from __future__ import annotations

from collections.abc import Collection

from inference.core.core_model.dependences import DependenceGraph
from inference.core.loop.instructions import instructions_of, unmapped_places
from inference.core.loop.modelled import (
    ModelledBlock,
    critical_chain,
    critical_keys,
    key_of_edge,
    location_name,
)
from inference.core.loop.ranges import loop_bounds, range_of
from inference.core.loop.remedies import remedies_of
from inference.core.loop.simulated import CannotSimulateError, simulated_block
from inference.core.loop.values import Dependence, LoopAnalysis
from inference.core.loop.waste import waste_note
from inference.core.simulation.steady_state import simulate


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
        _dependences(modelled.graph, critical_keys(chain)),
        cycles,
        note,
        remedies_of(modelled, bounds),
        modelled.prediction.lacking,
    )


def _dependences(graph: DependenceGraph, critical: Collection[str]) -> tuple[Dependence, ...]:
    """The edges of a graph by instructions instead of operands; of several, the longest."""
    by_key: dict[str, Dependence] = {}
    for edge in graph.edges:
        key = key_of_edge(graph, edge)
        cycles = None if graph.is_assumed(edge) else edge.cycles
        before = by_key.get(key)
        if before is None or (before.cycles or 0.0) < (cycles or 0.0):
            by_key[key] = Dependence(
                key,
                graph.nodes[edge.source][0],
                graph.nodes[edge.target][0],
                location_name(edge.location),
                edge.iterations,
                cycles,
                graph.basis(edge),
                key in critical,
            )
    return tuple(by_key.values())
