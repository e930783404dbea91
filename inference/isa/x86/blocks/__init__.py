"""The block facet of x86-64: from machine code or assembly to instructions and their schemes, and back."""

from __future__ import annotations

from inference.isa.x86.assembly.reading import listed_program, paragraph_reader
from inference.isa.x86.blocks.block import (
    GENERAL,
    block_of_bytes,
    body_of,
    mnemonics_of,
)
from inference.isa.x86.blocks.listing import (
    ASSEMBLY,
    att_of_bytes,
    close_loop,
    intel_of_bytes,
    plain_att_of_bytes,
)
from inference.isa.x86.blocks.schemes import schemes_of_bytes
from inference.isa.x86.blocks.wrapping import as_loop, object_file, with_markers
from inference.isa.x86.control_flow import steps_of, steps_of_region

__all__ = [
    "ASSEMBLY",
    "GENERAL",
    "as_loop",
    "att_of_bytes",
    "block_of_bytes",
    "body_of",
    "close_loop",
    "intel_of_bytes",
    "listed_program",
    "mnemonics_of",
    "object_file",
    "paragraph_reader",
    "plain_att_of_bytes",
    "schemes_of_bytes",
    "steps_of",
    "steps_of_region",
    "with_markers",
]
