"""Basic blocks of any instruction set as values: from machine code or pasted text, and as text again."""

from __future__ import annotations

from inference.isa.blocks.decoding import (
    block_of_bytes,
    block_of_hex,
    body_of,
    general_registers,
    isa_beside,
    mnemonics_of,
    schemes_of_bytes,
)
from inference.isa.blocks.reading import block_of_text, read, read_blocks
from inference.isa.code.block import MOST_BYTES, MOST_INSTRUCTIONS, Block, BlockInstruction
from inference.isa.code.control_flow import LOOP, STRAIGHT
from inference.isa.code.errors import BlockError, DroppedLine
from inference.isa.code.name import BlockName
from inference.isa.code.pieces import Piece, piece_of
from inference.isa.code.reading import TITLES, BlocksOfText
from inference.isa.targets.recognising import NOT_SUPPORTED

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
    "block_of_bytes",
    "block_of_hex",
    "block_of_text",
    "body_of",
    "general_registers",
    "isa_beside",
    "mnemonics_of",
    "piece_of",
    "read",
    "read_blocks",
    "schemes_of_bytes",
]
