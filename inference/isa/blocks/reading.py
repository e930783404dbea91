"""What somebody pastes, as basic blocks: machine code, assembly, listings, or lines of a CSV file."""

from __future__ import annotations

from inference.isa.blocks.decoding import block_reader
from inference.isa.code.block import Block
from inference.isa.code.errors import BlockError
from inference.isa.code.reading import BlocksOfText, blocks_of_text, refuse_dropped
from inference.isa.targets import DEFAULT
from inference.isa.targets.recognising import NOT_SUPPORTED, is_foreign_line, looks_like_aarch64


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
