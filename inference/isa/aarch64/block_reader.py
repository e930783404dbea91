"""The block facet of AArch64: from machine code, assembly or a listing to instructions, and back."""

from __future__ import annotations

from collections.abc import Callable

from inference.isa.aarch64.assembly import SYNTAX
from inference.isa.aarch64.blocks import (
    ASSEMBLY,
    GENERAL,
    as_loop,
    att_of_bytes,
    block_of_bytes,
    body_of,
    close_loop,
    intel_of_bytes,
    mnemonics_of,
    object_file,
    plain_att_of_bytes,
    schemes_of_bytes,
    steps_of,
    steps_of_region,
    with_markers,
)
from inference.isa.aarch64.listings import listed_program
from inference.isa.code.assembly_reader import AssemblyState
from inference.isa.code.pieces import AssemblyProgram
from inference.isa.words.assembly import program_of_lines

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


def paragraph_reader(is_foreign: Callable[[str], bool]) -> Callable[[list[str], int], AssemblyProgram]:
    """A function that reads the paragraphs of one text in order: (lines, number of the first line)."""
    state = AssemblyState()

    def program_of(lines: list[str], first: int) -> AssemblyProgram:
        listed = listed_program(list(enumerate(lines, start=first)), is_foreign)
        return listed or program_of_lines(lines, first, SYNTAX, state=state)

    return program_of
