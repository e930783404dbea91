"""Any text as a program: a listing where it is one, else assembly."""

from __future__ import annotations

from inference.isa.x86.assembly.disassembly import program_of_listing
from inference.isa.x86.assembly.listings import listing_of
from inference.isa.x86.assembly.program import AssemblyProgram
from inference.isa.x86.assembly.source import lines_of, source_lines
from inference.isa.x86.assembly.text import TextState, program_of_text


def read_program(text: str) -> AssemblyProgram:
    """All instructions of assembly or of a listing, jumps included. Raises `BlockError`."""
    return program_of_lines(lines_of(text), 1)


def program_of_lines(lines: list[str], first: int, state: TextState | None = None) -> AssemblyProgram:
    """The same of lines from this number on; `state`: of those before, which it changes."""
    if listing := listing_of(list(enumerate(lines, start=first))):
        return program_of_listing(listing)
    return program_of_text(list(source_lines(lines, first)), state)
