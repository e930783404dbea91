"""What instructions of a block read, write and become together: all that a core model asks of a block."""

from __future__ import annotations

from collections.abc import Mapping

from inference.isa.code.block import Block, BlockInstruction
from inference.isa.x86.block_inputs import reads_of
from inference.isa.x86.bodies import body_accesses, loop_body, loop_size
from inference.isa.x86.choosing import RCX
from inference.isa.x86.dependences import accesses_of, name_of_location
from inference.isa.x86.fusion import moves_of, pairs_of
from inference.isa.x86.scheme_set import described
from inference.isa.x86.steps import step_of

__all__ = [
    "accesses_of",
    "body_accesses",
    "loop_body",
    "loop_size",
    "moves_of",
    "name_of_location",
    "pairs_of",
    "reads_of",
    "shifts_by_nothing",
    "stores_of",
]


def stores_of(one: BlockInstruction) -> int:
    """How often an instruction stores."""
    found = None if one.scheme is None else described(one.scheme)
    operands = () if found is None else found[0].operands
    return sum(operand.kind == "memory" and "W" in operand.access for operand in operands)


def shifts_by_nothing(block: Block, registers: Mapping[str, int]) -> int:
    """How many shifts by a register move no bits where registers start so.

    A count that the block computes itself is taken for another number than 0.
    """
    steps = [step_of(instruction.code) for instruction in block.instructions]
    if any(part.family == RCX for step in steps for part in step.writes):
        return 0
    count = registers["rcx"]
    return sum(step.is_shift_by_register and not step.shift_count(count) for step in steps)
