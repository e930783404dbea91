"""A block on the core's simulated scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.core_model.prediction import own_jumps
from inference.core.core_model.scheduler_inference import dispatch_width
from inference.core.core_model.simulated_program import UndescribedSchemeError, program_of
from inference.core.loop.modelled import ModelledBlock
from inference.core.simulation.program import SchedulerPolicy, SimulatedProgram


@dataclass(frozen=True)
class SimulatedBlock:
    """A block as a loop body for `inference.core.simulation.steady_state.simulate`.

    `is_measured`: whether the policy is that of the core, rather than the default.
    """

    program: SimulatedProgram
    policy: SchedulerPolicy
    is_measured: bool


def simulated_block(modelled: ModelledBlock) -> SimulatedBlock | None:
    """The block on the core's scheduler, or a default one; None where µops or the width are not known.

    Instructions of the program count as in `Block.listing`. A jump that is not fused is the last.
    """
    model, scheduler = modelled.model, modelled.model.scheduler
    width = dispatch_width(model) if scheduler is None else scheduler.width
    if model.mapping is None or width is None:
        return None
    try:
        program = program_of(
            modelled.accesses,
            model,
            width,
            jumps=own_jumps(modelled.shape, model),
            copies=modelled.shape.copies,
        )
    except UndescribedSchemeError:
        return None
    policy = SchedulerPolicy() if scheduler is None else scheduler.policy
    return SimulatedBlock(program, policy, scheduler is not None)
