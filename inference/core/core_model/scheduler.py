"""How long a block takes on the simulated scheduler of a core model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from inference.core.core_model.cycles import Edge
from inference.core.core_model.dependences import DependenceGraph
from inference.core.core_model.model import CoreModel, CoreScheduler
from inference.core.core_model.simulated_program import UndescribedSchemeError, all_edges, program_of
from inference.core.simulation.steady_state import simulate
from inference.isa.dependences import InstructionAccesses


def simulated_cycles(
    block: Sequence[InstructionAccesses],
    model: CoreModel,
    scheduler: CoreScheduler,
    *,
    jumps: int = 0,
    copies: int = 1,
    edges_of: Callable[[DependenceGraph], Iterable[Edge]] = all_edges,
) -> float | None:
    """Cycles per iteration of a block in a loop; None where µops of an instruction are not known.

    See `program_of` for the arguments. Ports that are not the scheduler's hold up nothing.
    """
    try:
        program = program_of(
            block,
            model,
            scheduler.width,
            simulated_ports=scheduler.ports,
            jumps=jumps,
            copies=copies,
            edges_of=edges_of,
        )
    except UndescribedSchemeError:
        return None
    return simulate(program, scheduler.policy).cycles
