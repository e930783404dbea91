"""The bounds of a block that follow from simulated µops: those of the scheduler and of program order.

Both begin with the µops that ports, slots and chains allow, and say what the order of the code costs beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from inference.core.core_model.critical_cycles import Edge
from inference.core.core_model.dependences import DependenceGraph
from inference.core.core_model.model import CoreModel, CoreScheduler
from inference.core.core_model.port_work import busiest_ports, port_work, total_work
from inference.core.core_model.prediction import (
    BoundKind,
    CodeShape,
    CoreBound,
    fused_moves,
    own_jumps,
    paired_nops,
)
from inference.core.core_model.simulated_program import UndescribedSchemeError, program_of
from inference.core.simulation.program import Binding
from inference.core.simulation.steady_state import simulate
from inference.core.texts import count_of
from inference.isa.dependences import InstructionAccesses

_SIMULATION_MARGIN = 1.01
"""Multiple of the largest other bound up to which a simulated loop takes equally long."""


def order_bounds(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    width: int | None,
    other_bounds: Sequence[CoreBound],
    without: Collection[BoundKind],
) -> list[CoreBound]:
    """The cycles of a block on a core that issues in order; none where the model lacks a part of that.

    Args:
        block: The instructions.
        shape: Their code.
        model: The core.
        width: Instructions that it issues per cycle; None where not measured.
        other_bounds: Other bounds of the same block.
        without: Bounds that are left out: their dependences are not waited for.
    """
    if model.issue is None or not model.issue.in_order or model.mapping is None or width is None:
        return []
    works = port_work(block, shape, model, model.mapping)
    jumps = own_jumps(shape, model)
    try:
        program = program_of(
            block,
            model,
            width,
            jumps=jumps,
            copies=shape.copies,
            works=works,
            edges_of=_edges_beside(without),
        )
    except UndescribedSchemeError:
        return []
    simulation = simulate(program, model.issue.policy)
    gaps = np.diff(simulation.issued[len(simulation.issued) // 2 :].ravel())  # of some iterations
    longest = int(gaps.argmax())
    place = program.uops[(longest + 1) % len(program.uops)].instruction
    mnemonic = (block[place].scheme or "").partition(" ")[0] if place < len(block) else "the jump"
    why = f"`{mnemonic}` and all behind it wait {count_of(int(gaps[longest]), 'cycle')}"
    return [CoreBound(BoundKind.ORDER, _at_least(simulation.cycles, other_bounds), why)]


def _edges_beside(without: Collection[BoundKind]) -> Callable[[DependenceGraph], list[Edge]]:
    def edges_of(graph: DependenceGraph) -> list[Edge]:
        return [
            edge
            for edge in graph.edges
            if (BoundKind.MEMORY if graph.is_through_memory(edge) else BoundKind.DEPENDENCES) not in without
        ]

    return edges_of


def _at_least(cycles: float, other_bounds: Sequence[CoreBound]) -> float:
    """The cycles of a simulation, without what its end changes."""
    largest = max((bound.cycles for bound in other_bounds), default=0.0)
    return largest if largest < cycles < _SIMULATION_MARGIN * largest else cycles


def scheduler_bounds(
    block: Sequence[InstructionAccesses],
    shape: CodeShape,
    model: CoreModel,
    scheduler: CoreScheduler,
    other_bounds: Sequence[CoreBound],
    without: Collection[BoundKind],
) -> list[CoreBound]:
    """The cycles that the scheduler needs, where its ports limit the block.

    A policy is inferred from code that its ports limit. One that binds at issue has no queues of single
    ports, so it holds for the other ports, too: those of loads and stores are in no experiment. Where a chain
    limits the block, simulated schedulers that bind early are slower than real ones: `add rdx, 1; cmp rdx,
    64` takes 1.00 cycles on a Zen 5, simulated 1.71. Those that bind at issue delay a chain only by older
    µops: `ldr x0, [x0]; ldr x1, [x0, #8]` takes 5 cycles where one port loads within 4.

    Args:
        block: Accesses of the block's instructions.
        shape: Size and copies of its code.
        model: The core.
        scheduler: The core's scheduler.
        other_bounds: All other bounds of the block.
        without: Kinds of bounds to leave out.

    Returns:
        One bound; none where ports do not limit the block.
    """
    shared_slots = paired_nops(block, model) + fused_moves(shape, model.front_end)
    if model.mapping is None or shared_slots:  # how instructions share slots is not simulated
        return []
    works = port_work(block, shape, model, model.mapping)
    work = total_work(works)
    at_issue = scheduler.policy.binding is Binding.AT_ISSUE
    simulated_ports = (1 << len(model.mapping.ports)) - 1 if at_issue else scheduler.ports
    ports = busiest_ports({mask: uops for mask, uops in work.items() if not mask & ~simulated_ports})
    largest = max((bound.cycles for bound in other_bounds), default=0.0)
    is_chain = ports < shape.limiting * largest and not at_issue
    if not ports or is_chain:
        return []

    try:
        program = program_of(
            block,
            model,
            scheduler.width,
            simulated_ports=simulated_ports,
            jumps=own_jumps(shape, model),
            copies=shape.copies,
            works=works,
            edges_of=_edges_beside(without),
        )
    except UndescribedSchemeError:
        return []
    cycles = _at_least(simulate(program, scheduler.policy).cycles, other_bounds)
    why = f"ports allow {ports:.2f}, the scheduler needs {cycles:.2f}"
    return [CoreBound(BoundKind.SCHEDULER, cycles, why)]
