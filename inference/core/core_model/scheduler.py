"""How long a block takes on the simulated scheduler of a core model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from inference.core.core_model.cycles import Edge
from inference.core.core_model.dependences import DependenceGraph
from inference.core.core_model.model import CoreModel
from inference.core.core_model.simulated_program import UndescribedSchemeError, all_edges, program_of
from inference.core.core_model.stores import SharedStores
from inference.core.simulation.steady_state import simulate
from inference.isa.dependences import InstructionAccesses


def simulated_cycles(
    block: Sequence[InstructionAccesses],
    model: CoreModel,
    *,
    jumps: int = 0,
    stores: SharedStores | None = None,
    edges_of: Callable[[DependenceGraph], Iterable[Edge]] = all_edges,
) -> float | None:
    """Cycles per iteration of a block in a loop.

    See `program_of` for the arguments. None for an empty block, for a model without a scheduler, and where
    µops of an instruction are not known.
    """
    scheduler = model.scheduler
    if scheduler is None or model.mapping is None or not block:
        return None
    try:
        program = program_of(
            block,
            model,
            scheduler.width,
            scheduler.memory_ports,
            jumps=jumps,
            shared_stores=stores,
            edges_of=edges_of,
        )
    except UndescribedSchemeError:
        return None
    return simulate(program, scheduler.policy).cycles
