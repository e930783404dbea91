"""Any text as a program: a listing if it is one, else assembly; 32-bit and 16-bit code is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from inference.isa.code.block import BlockError
from inference.isa.code.listings import NumberedLines
from inference.isa.code.pieces import AssemblyProgram
from inference.isa.code.source import lines_of, source_lines
from inference.isa.x86.assembly.dialects import plain_assembly
from inference.isa.x86.assembly.disassembly import program_of_listing
from inference.isa.x86.assembly.listing_kinds import listing_in
from inference.isa.x86.assembly.text import TextState, program_of_text

_FORMAT = re.compile(
    r"file format (?:elf32-i386|pei?-i386|coff-i386|mach-o[- ]i386)|^[ \t]*(?:\[?bits\s+|use)(?:16|32)\b"
    r"|^[ \t]*\.[3-6]86p?\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What disassemblers and assemblers say of 32-bit code."""

_REGISTER = r"%?e(?:[abcd]x|[sd]i|[bs]p)"
_INSTRUCTION = re.compile(
    rf"(?:\b(?:push|pop|call|jmp)l?[ \t]+\*?{_REGISTER}|\b(?:push|pop)a[dl]?)[ \t]*(?=[#;/]|$)"
    rf"|\bpushl[ \t]+\S|\bpush[ \t]+dword\b|\bl[de]s[ \t]+{_REGISTER}\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Instructions that 64-bit mode does not have."""

_STACK = re.compile(r"\(%e[sb]p\b|\[[^\]\n]{0,60}\be[sb]p\b", re.IGNORECASE)
_NARROW_ADDRESS = re.compile(
    rf"\((?:%\w+)?,?{_REGISTER}\b|\[[^\]\n]{{0,60}}\b{_REGISTER[2:]}\b", re.IGNORECASE
)
_WIDE_REGISTER = re.compile(
    r"(?<![\w.$@])%?(?:r(?:[abcd]x|[sd]i|[bs]p|ip)|r(?:8|9|1[0-5])[dwb]?|[xyz]mm(?:[89]|[12]\d|3[01]))(?![\w@])"
    r"|\b67 [0-9a-f]{2}\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What 32-bit code does not have: these registers, and among its bytes a prefix for 32-bit addresses."""

_COMMENT = re.compile(r"(?:[#;]|//|/\*|\").*|<[^<>]*>")

NARROW = "all memory is addressed by 32-bit registers: is this 32-bit code? It is read as 64-bit code"


def refuse_legacy_modes(lines: NumberedLines) -> str:
    """A note on code that may be 32-bit, "" for other code: 64-bit mode would read other instructions.

    Memory at `[esp+8]` is valid in 64-bit code, with an address-size prefix: a text is 32-bit code where it
    has an instruction that 64-bit mode lacks, or addresses by `esp` or `ebp` and no 64-bit register.

    Raises:
        BlockError: For code that is certainly 32-bit, with the line that shows it.
    """
    text = "\n".join(line for _, line in lines)
    has_instruction = _FORMAT.search(text) or _INSTRUCTION.search(text)
    if not has_instruction and (_WIDE_REGISTER.search(text) or not _NARROW_ADDRESS.search(text)):
        return ""  # nearly all texts
    stack, narrow, is_wide = 0, 0, False
    for number, raw in lines:
        code = _COMMENT.sub("", raw) if any(mark in raw for mark in '#;/"<') else raw
        if _FORMAT.search(code) or _INSTRUCTION.search(code):
            raise _error(number, code)
        is_wide = is_wide or bool(_WIDE_REGISTER.search(code))
        if not is_wide:
            narrow = narrow or (number if _NARROW_ADDRESS.search(code) else 0)
            stack = stack or (number if _STACK.search(code) else 0)
    if is_wide or not narrow:
        return ""
    if stack:
        raise _error(stack, dict(lines)[stack])
    return NARROW


def _error(number: int, line: str) -> BlockError:
    code = " ".join(line.split())[:60]
    return BlockError(f"this is 32-bit x86 ({code}): code for x86-64 is read", number)


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
