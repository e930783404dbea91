"""Shifts by no bits on a simulated machine: slow, as where cores leave the flags alone by another way."""

from __future__ import annotations

from dataclasses import replace

from inference.agent.protocol import Result
from inference.isa.blocks import Block, shifts_by_nothing
from inference.isa.start_values import StartValues


def with_zero_counts(result: Result, block: Block, start: StartValues, cycles: float) -> Result:
    """The result of a block, each of whose shifts by a register of 0 takes so many cycles longer.

    Args:
        result: Without that.
        start: What the block starts with; a count that it computes itself is taken for another number than 0.
        cycles: 0 for a machine without slow shifts.
    """
    if not cycles or result.cycles is None:
        return result
    return replace(result, cycles=result.cycles + cycles * shifts_by_nothing(block, start.registers))
