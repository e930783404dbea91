"""Shifts by no bits on a simulated machine: slow, as where cores leave the flags alone by another way."""

from __future__ import annotations

from dataclasses import replace

from inference.agent.protocol import Result
from inference.isa.start_values import StartValues
from inference.isa.x86.blocks import Block
from inference.isa.x86.steps import RegisterPart, Step, step_of

_SHIFTS = frozenset(("rcl", "rcr", "rol", "ror", "sar", "shl", "shld", "shr", "shrd"))
_CL = RegisterPart(family=1, bits=8, high=False)


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
    if any(part.family == _CL.family for step in steps for part in step.writes):
        return result
    shifts = sum(_is_by_zero(step, start.registers["rcx"]) for step in steps)
    return replace(result, cycles=result.cycles + cycles * shifts)


def _is_by_zero(step: Step, count: int) -> bool:
    is_shift = step.mnemonic in _SHIFTS and step.operands[-1] == _CL
    return is_shift and count & (63 if step.bits == 64 else 31) == 0
