"""A listing of x86-64 as a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inference.isa.code import listed_program
from inference.isa.code.block import BlockError
from inference.isa.code.listed_program import has_bare_lines
from inference.isa.code.listings import ListedLine, Listing
from inference.isa.code.pieces import AssemblyProgram
from inference.isa.x86.assembly.layout import MARKERS
from inference.isa.x86.assembly.listed_instructions import ListingReader
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.assembly.statements import visible_syntax

_WAIT = b"\x9b"
"""An instruction that disassemblers print as one with the next: `fstsw` for `fwait; fnstsw`."""


def program_of_listing(listing: Listing) -> AssemblyProgram:
    """The program of a listing. Raises `BlockError` with the line."""
    lines = listing.lines if has_bare_lines(listing.lines) else _with_prefixes_joined(listing.lines)
    syntax = next(filter(None, (visible_syntax(line.text) for line in lines if line.text)), "intel")
    return listed_program.program_of_listing(listing, lines, ListingReader(syntax), MARKERS)


def _with_prefixes_joined(lines: Sequence[ListedLine]) -> list[ListedLine]:
    """The lines; prefixes on lines of their own, as of llvm-objdump, joined with the next; `wait` apart."""
    joined: list[ListedLine] = []
    prefixes: ListedLine | None = None
    for line in lines:
        current = line
        if prefixes is not None:
            if not current.text or current.address != _end_of(prefixes):
                break
            current = replace(
                current,
                address=prefixes.address,
                text=f"{prefixes.text} {current.text}",
                code=prefixes.code + current.code,
            )
            prefixes = None
        words = current.text.split()
        if words and all(map(is_prefix, words)):
            prefixes = current
        elif current.code.startswith(_WAIT) and len(current.code) > 1 and current.address is not None:
            joined.append(replace(current, code=_WAIT, text="wait"))
            text = f"fn{current.text[1:]}"
            joined.append(replace(current, code=current.code[1:], address=current.address + 1, text=text))
        else:
            joined.append(current)
    if prefixes is not None:
        raise BlockError(f"no instruction follows {prefixes.text}", prefixes.number)
    return joined


def _end_of(prefixes: ListedLine) -> int | None:
    """The address behind prefixes of one byte each."""
    if prefixes.address is None:
        return None
    return prefixes.address + (len(prefixes.code) or len(prefixes.text.split()))
