"""Concrete basic blocks as the domain sees them: schemes by number, and what stands in their operands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from anica_app.core.domain.dependencies import Dependency, dependencies
from anica_app.core.domain.settings import SpaceSettings
from anica_app.core.domain.space import SchemeSpace, reasons
from inference.isa.blocks import BlockError, block_of_bytes
from inference.isa.operand_slots import Content


@dataclass(frozen=True, slots=True)
class AbstractedInstruction:
    """An instruction: the number of its scheme, what stands in the operands that can alias, and its bytes."""

    scheme: int
    contents: tuple[Content, ...]
    code: bytes


@dataclass(frozen=True)
class SampledBlock:
    """A basic block of the schemes of a space, be it sampled or read from machine code."""

    instructions: tuple[AbstractedInstruction, ...]

    def __len__(self) -> int:
        return len(self.instructions)

    @cached_property
    def code(self) -> bytes:
        return b"".join(one.code for one in self.instructions)

    def dependencies(self, space: SchemeSpace) -> frozenset[Dependency]:
        """Which instruction reads what another one wrote; `space` is that of its schemes."""
        return dependencies([space.uses[one.scheme].of(one.contents) for one in self.instructions])

    def without(self, position: int) -> SampledBlock:
        """The block without the instruction at this position, from 0."""
        return SampledBlock(self.instructions[:position] + self.instructions[position + 1 :])


def block_of_code(code: bytes, space: SchemeSpace) -> SampledBlock | None:
    """The block with this machine code; None where an instruction is of no scheme of the space."""
    found = []
    for instruction in space.operands.decoded(code, space.slots_by_text):
        if instruction is None:
            return None
        text, contents, own = instruction
        found.append(AbstractedInstruction(space.by_text[text], contents, own))
    return SampledBlock(tuple(found)) if found else None


def obstacle(code: bytes, space: SchemeSpace) -> str:
    """Why there is no block of these schemes with this machine code, in words; "" where there is one."""
    try:
        block = block_of_bytes(code, space.isa)
    except BlockError as error:
        return error.message
    for number, one in enumerate(block.instructions, start=1):
        if one.scheme is None:
            return f"instruction {number}, {one.text}, is of no known scheme"
        if block_of_code(one.code, space) is None:
            why = reasons(SpaceSettings(), space.isa)[one.scheme]
            return f"instruction {number}, {one.text}, is of a scheme left out here: {why or one.scheme}"
    return ""
