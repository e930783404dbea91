"""Basic blocks of any instruction set, by its name: from machine code or pasted text to values, and back.

What a block is stands in `inference.isa.code.block`. Everything here raises `BlockError`, also where an
instruction set has no blocks yet, or no facet for what is asked of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from inference.isa.block_changes import ChangedBlock
from inference.isa.code.block import (
    MOST_BYTES,
    MOST_INSTRUCTIONS,
    Block,
    BlockError,
    BlockInstruction,
    BlockName,
    DroppedLine,
    Iteration,
    bytes_of_hex,
)
from inference.isa.code.control_flow import LOOP, STRAIGHT
from inference.isa.code.pieces import Piece, piece_of
from inference.isa.code.reading import TITLES, BlocksOfText, blocks_of_text, refuse_dropped
from inference.isa.dependences import InstructionAccesses
from inference.isa.facets import AccessReader, BlockFramer, BlockReader
from inference.isa.start_values import BlockReads
from inference.isa.targets import DEFAULT, target_of
from inference.isa.targets.recognising import NOT_SUPPORTED, is_foreign_line, looks_like_aarch64

__all__ = [
    "LOOP",
    "MOST_BYTES",
    "MOST_INSTRUCTIONS",
    "NOT_SUPPORTED",
    "STRAIGHT",
    "TITLES",
    "Block",
    "BlockError",
    "BlockInstruction",
    "BlockName",
    "BlocksOfText",
    "DroppedLine",
    "Piece",
    "piece_of",
]


@cache  # a block is decoded in two microseconds
def block_reader(isa: str) -> BlockReader:
    """What decodes the blocks of an instruction set. Raises `BlockError` where nothing does."""
    reader = target_of(isa).blocks
    if reader is None:
        raise BlockError(f"blocks of {isa} are not supported yet")
    return reader


def isa_beside(fields: Mapping[str, object]) -> str:
    """The instruction set of the digits among these fields: `DEFAULT` for those written without one."""
    return str(fields.get("isa") or DEFAULT)


def block_of_bytes(code: bytes, isa: str = DEFAULT) -> Block:
    return block_reader(isa).block_of_bytes(code)


def block_of_hex(text: str, isa: str = DEFAULT) -> Block:
    """Decode hexadecimal digits, spaces between them or not."""
    return block_reader(isa).block_of_bytes(bytes_of_hex(text))


def body_of(code: bytes, isa: str = DEFAULT) -> bytes:
    """Machine code without the jump that closes a loop; other code, and bytes that are none, as they are."""
    return block_reader(isa).body_of(code)


def mnemonics_of(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The mnemonic of each instruction, "add"; many times faster than describing them."""
    return block_reader(isa).mnemonics_of(code)


def schemes_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str | None, ...]:
    """The scheme of each instruction but the jump that closes a loop, None for one of no scheme."""
    return block_reader(isa).schemes_of_bytes(code)


def general_registers(isa: str = DEFAULT) -> Sequence[str]:
    """The general-purpose registers in the order of their numbers."""
    return block_reader(isa).GENERAL


def read_blocks(text: str, most: int, isa: str = DEFAULT) -> list[Block]:
    """The blocks of a text; see `read`. Raises `BlockError` for each line of `dropped`, too."""
    reading = read(text, most, isa)
    refuse_dropped(reading.dropped)
    return [piece.block for piece in reading.pieces]


def block_of_text(text: str, isa: str = DEFAULT) -> Block:
    """The one block of a text; see `read_blocks`."""
    (block,) = read_blocks(text, 1, isa)
    return block


def read(text: str, most: int, isa: str = DEFAULT) -> BlocksOfText:
    """The blocks of a text, at most `most` of them.

    Paragraphs, parted by empty lines, are a block each, in hexadecimal digits or as assembly, unless jumps
    lead from one to another; code with jumps is cut into its loops and straight pieces. Of a CSV file each
    line is one: its first column has the digits, the others are passed over, and so is a header. Raises
    `BlockError` with line and column; for assembly of AArch64, that there are no blocks of it.
    """
    try:
        return blocks_of_text(text, most, block_reader(isa), is_foreign_line)
    except BlockError:
        if looks_like_aarch64(text):
            raise BlockError(NOT_SUPPORTED) from None
        raise


def intel_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions of machine code: `mov rcx, qword ptr [rax+8]`."""
    return block_reader(isa).intel_of_bytes(code)


def att_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions of machine code, sizes in their names: `movq 8(%rax), %rcx`."""
    return block_reader(isa).att_of_bytes(code)


def plain_att_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The same for tools that know instructions alone: an assembler may choose another encoding of some."""
    return block_reader(isa).plain_att_of_bytes(code)


def text_writer(isa: str = DEFAULT) -> str:
    """Who writes the texts, for the identity of answers that depend on them."""
    return block_reader(isa).ASSEMBLY


def in_loop(code: bytes, isa: str = DEFAULT) -> bytes:
    """A loop as it is; another block with a counter that it does not use and a jump behind it."""
    return block_reader(isa).in_loop(code)


def between_markers(code: bytes, isa: str = DEFAULT) -> bytes:
    """The block between the marks by which analysers find it in a program."""
    return block_reader(isa).between_markers(code)


def object_file(code: bytes, name: str = "block", isa: str = DEFAULT) -> bytes:
    """A relocatable file with the code as a global function of this name."""
    return block_reader(isa).object_file(code, name)


def intel_or_digits(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions of machine code; its digits where the bytes are no instructions."""
    try:
        return intel_of_bytes(code, isa)
    except BlockError:
        return (code.hex(),)


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


def _framer(block: Block) -> BlockFramer:
    framer = target_of(block.isa).frames
    if framer is None:
        raise BlockError(f"blocks of {block.isa} cannot be measured yet")
    return framer


def iteration_of(block: Block) -> Iteration:
    """The block once; that of a loop is as long as some lines of the instruction cache."""
    return _framer(block).iteration_of(block)


def wants_avx(block: Block, flags: Collection[str] | None) -> bool:
    """Whether vector registers start 256 bits wide; `flags`: the CPU's, None where they are not known."""
    return _framer(block).wants_avx(block, flags)


def mask_bits(block: Block, flags: Collection[str] | None) -> int:
    """Of the mask registers, where the block has and the CPU knows some, else 0."""
    return _framer(block).mask_bits(block, flags)


def filled_fpu(block: Block) -> str:
    """Whose registers a block finds filled: "x87", "mmx", or "" for neither."""
    return _framer(block).filled_fpu(block)


def changed_block(code: bytes, *, executes: bool = False, isa: str = DEFAULT) -> ChangedBlock:
    """A block and its changes. Raises `BlockError` for code that is no basic block.

    `executes`: the changed blocks are executed, so that the stack pointer must stay what it is.
    """
    changer = target_of(isa).changes
    if changer is None:
        raise BlockError(f"blocks of {isa} cannot be changed yet")
    return changer.changed_block(code, executes=executes)
