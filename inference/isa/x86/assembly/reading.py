"""Any text as a program: a listing if it is one, else assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from inference.isa.code.pieces import AssemblyProgram
from inference.isa.code.source import lines_of, source_lines
from inference.isa.x86.assembly.dialects import plain_assembly
from inference.isa.x86.assembly.disassembly import program_of_listing
from inference.isa.x86.assembly.legacy_modes import refuse_legacy_modes
from inference.isa.x86.assembly.listing_kinds import listing_in
from inference.isa.x86.assembly.text import TextState, program_of_text


def read_program(text: str) -> AssemblyProgram:
    """All instructions of assembly or of a listing, jumps included. Raises `BlockError`."""
    return program_of_lines(lines_of(text), 1)


def program_of_lines(
    lines: list[str],
    first: int,
    *,
    state: TextState | None = None,
    is_foreign: Callable[[str], bool] = lambda _line: False,
) -> AssemblyProgram:
    """The same for lines with numbers from `first`; `state`: of previous lines, which is updated."""
    numbered = list(enumerate(lines, start=first))
    if program := listed_program(numbered, is_foreign):
        return program
    program = program_of_text(list(source_lines(plain_assembly(lines), first)), state)
    return _with_note(program, refuse_legacy_modes(numbered))


def _with_note(program: AssemblyProgram, note: str) -> AssemblyProgram:
    return replace(program, notes=(*program.notes, note)) if note else program


def listed_program(
    lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]
) -> AssemblyProgram | None:
    """The program of a listing, from numbered lines; None where they are none. Raises `BlockError`.

    `is_foreign`: whether a line is code of another instruction set.
    """
    note = refuse_legacy_modes(lines)
    listing = listing_in(lines, is_foreign)
    return None if listing is None else _with_note(program_of_listing(listing), note)


def paragraph_reader(is_foreign: Callable[[str], bool]) -> Callable[[list[str], int], AssemblyProgram]:
    """`program_of_lines` for the paragraphs of one text, with the directives of previous ones."""
    return partial(program_of_lines, state=TextState(), is_foreign=is_foreign)
