"""What instructions of a block read, write and become together, by the block's instruction set."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from inference.isa.block_facets import AccessReader
from inference.isa.code.block import Block, BlockInstruction
from inference.isa.code.errors import BlockError
from inference.isa.dependences import InstructionAccesses
from inference.isa.start_values import BlockReads
from inference.isa.targets import DEFAULT, target_of


@cache
def access_reader(isa: str) -> AccessReader:
    """What knows the accesses of an instruction set. Raises `BlockError` where nothing does."""
    reader = target_of(isa).accesses
    if reader is None:
        raise BlockError(f"what instructions of {isa} read and write is not known here")
    return reader


def accesses_of(block: Block, *, alike: bool = False) -> tuple[InstructionAccesses, ...]:
    """Of each instruction, in their order.

    `alike`: registers start with the same number, as machines that measure blocks have it, so that those
    which the block does not write lead to the same places.
    """
    return access_reader(block.isa).accesses_of(block, alike=alike)


def reads_of(block: Block) -> BlockReads:
    """What it reads of the values that registers and memory start with: registers first, in their order."""
    return access_reader(block.isa).reads_of(one.code for one in block.instructions)


def pairs_of(block: Block) -> tuple[str, ...]:
    """What may become one instruction in a core, by `inference.isa.front_end`'s names."""
    return access_reader(block.isa).pairs_of(block)


def moves_of(block: Block) -> tuple[str, ...]:
    """The same of register moves and what updates their copies."""
    return access_reader(block.isa).moves_of(block)


def stores_of(instruction: BlockInstruction) -> int:
    """How often an instruction stores."""
    return access_reader(instruction.isa).stores_of(instruction)


def shifts_by_nothing(block: Block, registers: Mapping[str, int]) -> int:
    """How many shifts by a register move no bits where registers start so."""
    return access_reader(block.isa).shifts_by_nothing(block, registers)


def name_of_location(location: str, isa: str = DEFAULT) -> str:
    """What people call a location: `rax`, `xmm3`, `the carry flag`."""
    return access_reader(isa).name_of_location(location)
