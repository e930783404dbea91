"""Basic blocks of any instruction set, by its name: machine code or pasted text to values, and back.

`inference.isa.code.block` defines blocks. All functions raise `BlockError`, also where an instruction set has
no blocks yet, or lacks the facet that is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from inference.isa.block_changes import ChangedBlock
from inference.isa.block_facets import (
    AccessReader,
    BlockFramer,
    BlockReader,
)
from inference.isa.code.block import (
    MAX_BYTES,
    MAX_INSTRUCTIONS,
    Block,
    BlockError,
    BlockInstruction,
    BlockName,
    DroppedLine,
    Iteration,
)
from inference.isa.code.control_flow import LOOP, STRAIGHT
from inference.isa.code.dumps import bytes_of_hex
from inference.isa.code.pasted_blocks import (
    TITLES,
    BlocksOfText,
    blocks_of_text,
    ranked_pieces,
    refuse_dropped,
)
from inference.isa.code.pieces import Piece, piece_of
from inference.isa.dependences import InstructionAccesses, Reduction
from inference.isa.start_values import BlockReads
from inference.isa.targets import DEFAULT, target_of
from inference.isa.targets.other_sets import refuse_other_sets
from inference.isa.targets.recognition import foreign_line_test, isa_of_text, refuse_foreign_text

DETECTED = ""
"""In place of an instruction set's name: the one that a text shows."""

_NAMED_LENGTH = 90  # characters of a block in a name

__all__ = [
    "DETECTED",
    "LOOP",
    "MAX_BYTES",
    "MAX_INSTRUCTIONS",
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
    "ranked_pieces",
]


@cache  # a block is decoded in two microseconds
def block_reader(isa: str) -> BlockReader:
    """The decoder of an instruction set's blocks. Raises `BlockError` where there is none."""
    reader = target_of(isa).blocks
    if reader is None:
        raise BlockError(f"blocks of {isa} are not supported yet")
    return reader


def isa_of_fields(fields: Mapping[str, object]) -> str:
    """The instruction set of a stored block.

    Args:
        fields: Fields of the block's record; records of early versions have no `isa` and mean `DEFAULT`.

    >>> isa_of_fields({"hex": "4801d8"})
    'x86-64'
    """
    return str(fields.get("isa") or DEFAULT)


def block_of_bytes(code: bytes, isa: str = DEFAULT) -> Block:
    """Decode machine code.

    Args:
        code: 1 to `MAX_BYTES` bytes and at most `MAX_INSTRUCTIONS` instructions. A jump to the first byte at
            the end makes it a loop.
        isa: Name of the instruction set.

    Raises:
        BlockError: For undecodable bytes, a wrong length, or an instruction set without blocks.

    >>> [instruction.text for instruction in block_of_bytes(bytes.fromhex("4801d8")).instructions]
    ['add rax, rbx']
    """
    return block_reader(isa).block_of_bytes(code)


def block_of_hex(text: str, isa: str = DEFAULT) -> Block:
    """Decode hexadecimal digits, with or without spaces between them. Raises `BlockError`.

    >>> block_of_hex("48 01 d8").instructions[0].text
    'add rax, rbx'
    """
    return block_reader(isa).block_of_bytes(bytes_of_hex(text))


def body_of(code: bytes, isa: str = DEFAULT) -> bytes:
    """Machine code without the jump that closes a loop; other code, and undecodable bytes, unchanged."""
    return block_reader(isa).body_of(code)


def mnemonics_of(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The mnemonic of each instruction, such as "add"; many times faster than `block_of_bytes`."""
    return block_reader(isa).mnemonics_of(code)


def schemes_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str | None, ...]:
    """The scheme of each instruction but a loop's closing jump; None for one without a scheme."""
    return block_reader(isa).schemes_of_bytes(code)


def general_registers(isa: str = DEFAULT) -> Sequence[str]:
    return block_reader(isa).GENERAL


def read_blocks(text: str, max_blocks: int, isa: str = DEFAULT) -> list[Block]:
    """The blocks of a text, at most `max_blocks`; see `read`. Raises `BlockError` for a dropped line, too."""
    reading = read(text, max_blocks, isa)
    refuse_dropped(reading.dropped)
    return [piece.block for piece in reading.pieces]


def block_of_text(text: str, isa: str = DEFAULT) -> Block:
    """The only block of a text; see `read_blocks`."""
    (block,) = read_blocks(text, 1, isa)
    return block


def read(text: str, max_blocks: int, isa: str = DEFAULT, usual: str = DEFAULT) -> BlocksOfText:
    """Read the blocks of a text.

    Args:
        text: Paragraphs, separated by blank lines; each is one block in hexadecimal digits or as assembly,
            unless jumps lead from one to another. Code with jumps is cut into its loops and straight pieces.
            Of a CSV file each line is a block: its first column contains the digits; a header and further
            columns are ignored.
        max_blocks: The largest number of blocks.
        isa: The name of the instruction set; `DETECTED`: that of assembly or a listing is recognised.
        usual: The instruction set of digits and of texts that show none, where it is to be detected.

    Raises:
        BlockError: With line and column; for code of another instruction set, with its name.
    """
    isa = isa or isa_of_text(text, usual)
    try:
        return blocks_of_text(text, max_blocks, block_reader(isa), foreign_line_test(isa))
    except BlockError:
        refuse_foreign_text(text, isa)
        refuse_other_sets(text, isa)
        raise


def intel_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions in Intel syntax: `mov rcx, qword ptr [rax+8]`."""
    return block_reader(isa).intel_of_bytes(code)


def att_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions in AT&T syntax, `movq 8(%rax), %rcx`; they assemble to the same bytes."""
    return block_reader(isa).att_of_bytes(code)


def plain_att_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """AT&T syntax without pseudo prefixes and numbers: an assembler may choose other encodings."""
    return block_reader(isa).plain_att_of_bytes(code)


def text_writer(isa: str = DEFAULT) -> str:
    """The writer of the texts with its version, for the identity of answers that depend on them."""
    return block_reader(isa).ASSEMBLY


def as_loop(code: bytes, isa: str = DEFAULT) -> bytes:
    """A loop unchanged; another block followed by a counter in an unused register and a jump back."""
    return block_reader(isa).as_loop(code)


def with_markers(code: bytes, isa: str = DEFAULT) -> bytes:
    """The block between the markers by which analysers find it in a program."""
    return block_reader(isa).with_markers(code)


def object_file(code: bytes, name: str = "block", isa: str = DEFAULT) -> bytes:
    """A relocatable ELF file with the code as a global function.

    Args:
        code: Machine code.
        name: Name of the function.
        isa: Name of the instruction set.
    """
    return block_reader(isa).object_file(code, name)


def intel_or_digits(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions in Intel syntax; the hexadecimal digits where the bytes cannot be decoded."""
    try:
        return intel_of_bytes(code, isa)
    except BlockError:
        return (code.hex(),)


def blocks_name(blocks: Sequence[str], isa: str) -> str:
    """A name for blocks: the first one in Intel syntax, with their number if there are several.

    Args:
        blocks: At least one block's machine code in hexadecimal.
        isa: Name of its instruction set.
    """
    first = "; ".join(intel_or_digits(bytes.fromhex(blocks[0]), isa))
    first = first if len(first) <= _NAMED_LENGTH else f"{first[:_NAMED_LENGTH].rstrip()}…"
    return first if len(blocks) == 1 else f"{len(blocks):,} blocks from {first}"


@cache
def access_reader(isa: str) -> AccessReader:
    """The reader of reads and writes of an instruction set. Raises `BlockError` where there is none."""
    reader = target_of(isa).accesses
    if reader is None:
        raise BlockError(f"reads and writes of {isa} instructions are not supported yet")
    return reader


def accesses_of(block: Block, *, equal_start: bool = False) -> tuple[InstructionAccesses, ...]:
    """The reads and writes of each instruction, in order.

    `equal_start`: registers start with the same number, as on machines that measure blocks, so that all those
    which the block does not write point to the same place.
    """
    return access_reader(block.isa).accesses_of(block, equal_start=equal_start)


def reads_of(block: Block) -> BlockReads:
    """The start values of registers and memory that a block reads: registers first, in order."""
    return access_reader(block.isa).reads_of(instruction.code for instruction in block.instructions)


def pairs_of(block: Block) -> tuple[str, ...]:
    """Pairs that a core may fuse, by the names of `inference.isa.front_end`."""
    return access_reader(block.isa).pairs_of(block)


def moves_of(block: Block) -> tuple[str, ...]:
    """Register moves that a core may fuse with the operation on the copy, by the same names."""
    return access_reader(block.isa).moves_of(block)


def fused_places(block: Block, fused: Collection[str]) -> frozenset[int]:
    """The places of instructions that share the slot of the next one on a core that fuses these pairs.

    Pairs are named as by `pairs_of` and `moves_of`.
    """
    return access_reader(block.isa).fused_places(block, fused)


def reduction_of(instruction: BlockInstruction) -> Reduction | None:
    """How an instruction accumulates a value in a register; None where it does not."""
    return access_reader(instruction.isa).reduction_of(instruction)


def stores_of(instruction: BlockInstruction) -> int:
    return access_reader(instruction.isa).stores_of(instruction)


def zero_bit_shifts(block: Block, registers: Mapping[str, int]) -> int:
    """The number of shifts by a register that move by 0 bits, for these start values of registers."""
    return access_reader(block.isa).zero_bit_shifts(block, registers)


def name_of_location(location: str, isa: str = DEFAULT) -> str:
    """The usual name of a location: `rax`, `xmm3`, `CF`."""
    return access_reader(isa).name_of_location(location)


def _framer(block: Block) -> BlockFramer:
    framer = target_of(block.isa).frames
    if framer is None:
        raise BlockError(f"blocks of {block.isa} cannot be measured yet")
    return framer


def iteration_of(block: Block) -> Iteration:
    """One iteration as it is measured; that of a loop fills whole lines of the instruction cache."""
    return _framer(block).iteration_of(block)


def walk_end(block: Block, copies: int, registers: Mapping[str, int]) -> bytes:
    """Code behind the copies in a loop that leads back registers which walk through memory."""
    return _framer(block).walk_end(block, copies, registers)


def needs_avx(block: Block, flags: Collection[str] | None) -> bool:
    """Whether vector registers start 256 bits wide; `flags`: the CPU's, None where unknown."""
    return _framer(block).needs_avx(block, flags)


def mask_bits(block: Block, flags: Collection[str] | None) -> int:
    """Bits of the mask registers: 16 or 64 where block and CPU have AVX-512, else 0."""
    return _framer(block).mask_bits(block, flags)


def filled_fpu(block: Block) -> str:
    """The unit whose registers are filled before the block: "x87", "mmx", or "" for neither."""
    return _framer(block).filled_fpu(block)


def changed_block(code: bytes, *, executes: bool = False, isa: str = DEFAULT) -> ChangedBlock:
    """A block and its changes. Raises `BlockError` for code that is no basic block.

    `executes`: the changed blocks are executed, so that the stack pointer must not change.
    """
    changer = target_of(isa).changes
    if changer is None:
        raise BlockError(f"blocks of {isa} cannot be changed yet")
    return changer.changed_block(code, executes=executes)
