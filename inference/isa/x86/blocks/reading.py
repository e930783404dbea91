"""What somebody pastes, as basic blocks: machine code, assembly, listings, or lines of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference.isa.aarch64.recognising import NOT_SUPPORTED, looks_like_aarch64
from inference.isa.x86.assembly.disassembly import program_of_listing
from inference.isa.x86.assembly.errors import BlockError
from inference.isa.x86.assembly.listings import listing_of
from inference.isa.x86.assembly.program import AssemblyProgram, ProgramInstruction
from inference.isa.x86.assembly.reading import program_of_lines
from inference.isa.x86.assembly.source import lines_of
from inference.isa.x86.blocks.block import Block, block_of_hex
from inference.isa.x86.blocks.listing import text_of
from inference.isa.x86.blocks.pieces import Piece, listed, named, notes_on, pieces_of
from inference.isa.x86.control_flow import steps_of
from inference.isa.x86.instances import ADDRESS_OF_CODE

TITLES = ("bb", "hex", "block", "code", "bytes")
"""What the first column of a CSV file of blocks is called."""

_HEX = re.compile(r"[0-9a-f\s]+|(0x[0-9a-f]{2}[\s,]*)+|(\\x[0-9a-f]{2}\s*)+")
_CSV = re.compile(r"\"?((?:[0-9a-f]{2})+)\"?(,[^,\n]*)*")
_JUMP = re.compile(r"(?:^|[\s:;])(?:j[a-z]{1,5}|loop[a-z]*)\s+([^\s#;]+)", re.IGNORECASE)
_LABEL = re.compile(r"^[ \t]*(\"[^\"\n]+\"|[\w.$?@]+)[ \t]*:", re.MULTILINE)
_COMPILED = re.compile(
    r"^[ \t]*\.(?:intel_syntax|att_syntax|text|section|data|file|globl|type)\b", re.MULTILINE
)


@dataclass(frozen=True)
class BlocksOfText:
    """All blocks of a text. `skipped`: how many lines or statements were passed over; `notes` says which."""

    pieces: tuple[Piece, ...]
    skipped: int = 0
    notes: tuple[str, ...] = ()


def read_blocks(text: str, most: int) -> list[Block]:
    """The blocks of a text; see `read`."""
    return [piece.block for piece in read(text, most).pieces]


def block_of_text(text: str) -> Block:
    """The one block of a text; see `read`."""
    (piece,) = read(text, 1).pieces
    return piece.block


def read(text: str, most: int) -> BlocksOfText:
    """The blocks of a text, at most `most` of them.

    Paragraphs, parted by empty lines, are a block each, in hexadecimal digits or as assembly, unless jumps
    lead from one to another; code with jumps is cut into its loops and straight pieces. Of a CSV file each
    line is one: its first column has the digits, the others are passed over, and so is a header. Raises
    `BlockError` with line and column; for assembly of AArch64, that there are no blocks of it.
    """
    try:
        return _read(text, most)
    except BlockError:
        if looks_like_aarch64(text):
            raise BlockError(NOT_SUPPORTED) from None
        raise


def _read(text: str, most: int) -> BlocksOfText:
    lines = lines_of(text)
    pieces: list[Piece] = []
    skipped = 0
    notes: list[str] = []
    if rows := _rows(lines):
        _not_too_many(len(rows), most)
        pieces = [Piece(f"line {number}", _block(number, digits), number) for number, digits in rows]
        return BlocksOfText(tuple(pieces))
    for program in _programs(lines, most):
        if isinstance(program, Piece):
            pieces.append(program)
            continue
        pieces += pieces_of(program)
        skipped += sum(program.skipped.values())
        notes += notes_on(program)
    if not pieces:
        raise BlockError(
            "there is no block: paste assembly, a listing, or machine code in hexadecimal digits"
            if not any(line.strip() for line in lines)
            else "there is no instruction but jumps, calls and returns: a block is what is between them"
        )
    found = named(pieces)
    _not_too_many(len(found), most, found)
    return BlocksOfText(found, skipped, tuple(dict.fromkeys(notes)))


def _not_too_many(count: int, most: int, pieces: Sequence[Piece] = ()) -> None:
    if count > most:
        blocks = "block" if most == 1 else "blocks"
        which = f": {listed(pieces)}" if pieces else ""
        raise BlockError(f"at most {most:,} {blocks} at a time, not {count:,}{which}")


def _programs(lines: list[str], most: int) -> Iterator[AssemblyProgram | Piece]:
    """What the paragraphs are: blocks of digits, or programs of one paragraph or several."""
    paragraphs = list(_paragraphs(lines))
    if not any(_is_hex(part) for _, part in paragraphs):
        listing = listing_of(list(enumerate(lines, start=1)))
        if listing is not None:
            yield program_of_listing(*listing)
            return
    if len(paragraphs) > most and not any(_JUMP.search("\n".join(part)) for _, part in paragraphs):
        _not_too_many(len(paragraphs), most)
    for first, part in _joined(paragraphs, lines):
        if _is_hex(part):
            yield _of_digits(first, "\n".join(part))
        else:
            yield program_of_lines(part, first)


def _paragraphs(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, lines) of each paragraph; a comment of several lines is not parted."""
    found: list[str] = []
    begin = 0
    is_open = False
    for number, line in enumerate(lines, start=1):
        if line.strip() or is_open:
            if not found:
                begin = number
            found.append(line)
            is_open = line.rfind("/*") > line.rfind("*/") if "/*" in line or "*/" in line else is_open
        elif found:
            yield begin, found
            found = []
    if found:
        yield begin, found


def _joined(paragraphs: list[tuple[int, list[str]]], lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Paragraphs between which jumps lead, or that are parts of a compiler's output, together."""
    labels = [set(_LABEL.findall("\n".join(part))) for _, part in paragraphs]
    owners: dict[str, list[int]] = {}
    for number, names in enumerate(labels):
        for name in names:
            owners.setdefault(name, []).append(number)
    until = list(range(len(paragraphs)))
    for number, (_, part) in enumerate(paragraphs):
        text = "\n".join(part)
        for name in _JUMP.findall(text):
            others = owners.get(name, [])
            if name not in labels[number] and others:
                nearest = min(others, key=lambda other: abs(other - number))
                low, high = sorted((number, nearest))
                until[low] = max(until[low], high)
        if _COMPILED.search(text):
            until[number] = len(paragraphs) - 1
    number = 0
    while number < len(paragraphs):
        last = until[number]
        reached = number
        while reached <= last:
            last = max(last, until[reached])
            reached += 1
        first = paragraphs[number][0]
        end = paragraphs[last][0] + len(paragraphs[last][1]) - 1
        yield first, lines[first - 1 : end]
        number = last + 1


def _is_hex(part: Sequence[str]) -> bool:
    text = "\n".join(part).strip().lower()
    return _HEX.fullmatch(text) is not None and re.search(r"[0-9]", text) is not None


def _rows(lines: list[str]) -> list[tuple[int, str]]:
    """(line number, hexadecimal digits) of a CSV file; empty where the text is none."""
    full = [(number, line.strip().lower()) for number, line in enumerate(lines, start=1) if line.strip()]
    titled = bool(full) and full[0][1].partition(",")[0].strip('"') in TITLES
    matched = [(number, _CSV.fullmatch(line)) for number, line in full[titled:]]
    found = [(number, row.group(1)) for number, row in matched if row is not None]
    is_file = titled or any("," in line for _, line in full)
    return found if is_file and len(found) == len(matched) else []


def _of_digits(line: int, digits: str) -> AssemblyProgram | Piece:
    """A block; with jumps, calls or the like among its instructions, a program like any other code."""
    block = _block(line, digits)
    instructions = [
        ProgramInstruction(line, text_of(step.code, "intel"), step)
        for step in steps_of(block.body, ADDRESS_OF_CODE)
    ]
    if all(one.step.flow == "next" for one in instructions):
        return Piece("", block, line)
    return AssemblyProgram(tuple(instructions))


def _block(line: int, digits: str) -> Block:
    try:
        return block_of_hex(digits)
    except BlockError as error:
        raise error.at(line + max(error.line - 1, 0)) from None
