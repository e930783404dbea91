"""Shifts by no bits on a simulated machine: slow, as where cores leave the flags alone by another way."""

from __future__ import annotations

from dataclasses import replace

from inference.agent.protocol import Result
from inference.isa.blocks import Block
from inference.isa.start_values import StartValues
from inference.isa.x86.choosing import RCX
from inference.isa.x86.steps import step_of


def with_zero_counts(result: Result, block: Block, start: StartValues, cycles: float) -> Result:
    """The result of a block, each of whose shifts by a `cl` of 0 takes so many cycles longer.

    Args:
        result: Without that.
        start: What the block starts with; a count that it computes itself is taken for another number than 0.
        cycles: 0 for a machine without slow shifts.
    """
    if not cycles or result.cycles is None:
        return result
    steps = [step_of(instruction.code) for instruction in block.instructions]
    if any(part.family == RCX for step in steps for part in step.writes):
        return result
    count = start.registers["rcx"]
    shifts = sum(step.is_shift_by_register and not step.shift_count(count) for step in steps)
    return replace(result, cycles=result.cycles + cycles * shifts)
