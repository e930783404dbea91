"""Basic blocks of x86-64 as values: from machine code or pasted text to instructions and their schemes."""

from __future__ import annotations

from inference.isa.x86.assembly.errors import BlockError, DroppedLine
from inference.isa.x86.blocks.block import (
    GENERAL,
    Block,
    BlockInstruction,
    block_of_bytes,
    block_of_hex,
    body_of,
    mnemonics_of,
)
from inference.isa.x86.blocks.pieces import Piece, piece_of
from inference.isa.x86.blocks.reading import BlocksOfText, block_of_text, read, read_blocks

__all__ = [
    "GENERAL",
    "Block",
    "BlockError",
    "BlockInstruction",
    "BlocksOfText",
    "DroppedLine",
    "Piece",
    "block_of_bytes",
    "block_of_hex",
    "block_of_text",
    "body_of",
    "mnemonics_of",
    "piece_of",
    "read",
    "read_blocks",
]
