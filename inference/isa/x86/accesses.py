"""The access facet of x86-64: reads and writes of blocks' instructions, and pairs that may be fused."""

from __future__ import annotations

from collections.abc import Mapping

from inference.isa.code.block import Block, BlockInstruction
from inference.isa.x86.block_inputs import reads_of
from inference.isa.x86.bodies import loop_body, loop_size
from inference.isa.x86.dependences import accesses_of, name_of_location
from inference.isa.x86.fusion import fused_places, moves_of, pairs_of
from inference.isa.x86.reductions import reduction_of
from inference.isa.x86.register_choices import RCX
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.steps import step_of

__all__ = [
    "accesses_of",
    "fused_places",
    "loop_body",
    "loop_size",
    "moves_of",
    "name_of_location",
    "pairs_of",
    "reads_of",
    "reduction_of",
    "stores_of",
    "zero_bit_shifts",
]


def stores_of(instruction: BlockInstruction) -> int:
    """The number of stores of an instruction."""
    scheme_form = None if instruction.scheme is None else scheme_and_form(instruction.scheme)
    operands = () if scheme_form is None else scheme_form[0].operands
    return sum(operand.kind == "memory" and "W" in operand.access for operand in operands)


def zero_bit_shifts(block: Block, registers: Mapping[str, int]) -> int:
    """The number of shifts by a register that move by 0 bits with these start values.

    A count that the block computes itself is assumed to differ from 0.
    """
    steps = [step_of(instruction.code) for instruction in block.instructions]
    if any(part.family == RCX for step in steps for part in step.writes):
        return 0
    count = registers["rcx"]
    return sum(step.is_shift_by_register and not step.shift_count(count) for step in steps)
