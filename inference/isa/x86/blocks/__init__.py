"""Basic blocks of x86-64 as values: from machine code or Intel syntax to instructions and their schemes."""

from __future__ import annotations

from inference.isa.x86.blocks.block import (
    GENERAL,
    Block,
    BlockInstruction,
    block_of_bytes,
    block_of_hex,
    block_of_text,
    mnemonics_of,
)
from inference.isa.x86.blocks.errors import BlockError
from inference.isa.x86.blocks.input import read_blocks

__all__ = [
    "GENERAL",
    "Block",
    "BlockError",
    "BlockInstruction",
    "block_of_bytes",
    "block_of_hex",
    "block_of_text",
    "mnemonics_of",
    "read_blocks",
]
