"""Pasted text as basic blocks: machine code, assembly, listings, or lines of a CSV file."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inference.isa.code.annotations import InstructionLine
from inference.isa.code.block import Block, BlockError, DroppedLine
from inference.isa.code.control_flow import LOOP
from inference.isa.code.dumps import bytes_of_hex, digits_of_arrays, digits_of_dump
from inference.isa.code.pieces import (
    AssemblyProgram,
    CodeReader,
    Piece,
    ProgramInstruction,
    names_in_words,
    notes_on,
    pieces_of,
    with_names,
)
from inference.isa.code.source import lines_of, lines_without_drawings

TITLES = ("bb", "hex", "block", "code", "bytes")
"""Titles of the first column in CSV files of blocks."""

_HEX = re.compile(r"[0-9a-f\s]+|(0x[0-9a-f]{2}[\s,]*)+|(\\x[0-9a-f]{2}\s*)+")
_CSV = re.compile(r"\"?((?:[0-9a-f]{2})+)\"?(,[^,\n]*)*")
_JUMP = re.compile(
    r"(?:^|[\s:;])(?:j[a-z]{1,5}|loop[a-z]*|b(?:\.?[a-z]{2})?|[ct]bn?z\s+\w+\s*,(?:\s*#?\d+\s*,)?)"
    r"\s+(?:(?:short|near)\s+(?:ptr\s+)?)?([^\s#;]+)",
    re.IGNORECASE,
)
"""A direct jump of any instruction set, and its target."""

_LABEL = re.compile(r"^[ \t]*(\"[^\"\n]+\"|[\w.$?@]+)[ \t]*:", re.MULTILINE)
_REGION = re.compile(
    r"(?:llvm-mca|osaca)[-_](begin|start|end|stop)\b"
    r"|\bmov(?:[lq]?\s+\$(111|222)\s*,\s*%ebx|\s+ebx\s*,\s*(111|222))\b"
)
"""Begin or end of a region, by a comment or by IACA's bytes; in lower case."""

_REGION_WORDS = ("llvm-mca", "osaca", "111", "222")
_BEGINS = ("begin", "start", "111")
_NO_CODE = ("#", "/", ".", ";", "*")


@dataclass(frozen=True)
class BlocksOfText:
    """All blocks of a text.

    Attributes:
        skipped: Number of ignored lines or statements, described in `notes`.
        dropped: Lines that look like code and are in no block; pages show them beside the blocks.
    """

    pieces: tuple[Piece, ...]
    skipped: int = 0
    notes: tuple[str, ...] = ()
    dropped: tuple[DroppedLine, ...] = ()

    def dropped_in(self, piece: Piece) -> tuple[DroppedLine, ...]:
        starts = sorted(dropped.line for dropped in self.pieces)
        place = bisect_right(starts, piece.line)
        start = piece.line if place > 1 else 0
        end = starts[place] if place < len(starts) else sys.maxsize
        return tuple(dropped for dropped in self.dropped if start <= dropped.line < end)


def ranked_pieces(reading: BlocksOfText) -> tuple[Piece, ...]:
    """The pieces in the order of interest: the hottest by samples first; without samples, loops first.

    All loops are innermost ones: the code around a loop is straight.
    """
    return tuple(
        sorted(
            reading.pieces, key=lambda piece: (-(piece.count or 0.0), piece.block.kind != LOOP, piece.line)
        )
    )


def refuse_dropped(dropped: Sequence[DroppedLine]) -> None:
    """Raise `BlockError` for the first dropped line."""
    for line in dropped:
        raise BlockError(f"this line {line.reason}, and is in no block: {line.text}", line.line)


def blocks_of_text(
    text: str, max_blocks: int, reader: CodeReader, is_foreign: Callable[[str], bool]
) -> BlocksOfText:
    """The blocks of a text; see `inference.isa.blocks.read`.

    Args:
        text: Assembly, a listing, a dump, an array, or hexadecimal digits.
        max_blocks: Largest number of blocks.
        reader: Decodes and assembles code of the instruction set.
        is_foreign: Whether a line is code of another instruction set.

    Raises:
        BlockError: No block, too many, or a line that cannot be read, whose number the error has.
    """
    lines = lines_of(text)
    lines = digits_of_dump(lines) or lines
    if rows := _rows(lines):
        _not_too_many(len(rows), max_blocks)
        pieces = [
            _digits_piece(f"line {number}", _block(number, digits, reader), number) for number, digits in rows
        ]
        return BlocksOfText(tuple(pieces))
    arrays = [_of_digits(number, digits, reader) for number, digits in digits_of_arrays(lines)]
    parts = arrays or list(_programs(lines, max_blocks, reader, is_foreign))
    programs = [part for part in parts if isinstance(part, AssemblyProgram)]
    has_regions = any(program.regions for program in programs)
    unnamed: list[Piece] = []
    for part in parts:
        if isinstance(part, Piece):
            unnamed.append(part)
        elif part.regions or not has_regions:
            unnamed += pieces_of(part, reader)
    dropped = tuple(line for program in programs for line in program.dropped)
    if not unnamed:
        refuse_dropped(dropped)
        raise BlockError(
            "there is no block: paste assembly, a listing, or machine code in hexadecimal digits"
            if not any(line.strip() for line in lines)
            else "there is no instruction but jumps, calls and returns: a block is what is between them"
        )
    skipped = sum(sum(program.skipped.values()) for program in programs) + len(dropped)
    named_pieces = with_names(unnamed)
    _not_too_many(len(named_pieces), max_blocks, named_pieces)
    return BlocksOfText(named_pieces, skipped, tuple(notes_on(programs)), dropped)


def _not_too_many(count: int, max_blocks: int, pieces: Sequence[Piece] = ()) -> None:
    if count > max_blocks:
        blocks = "block" if max_blocks == 1 else "blocks"
        names = f": {names_in_words(pieces)}" if pieces else ""
        raise BlockError(f"at most {max_blocks:,} {blocks} at a time, not {count:,}{names}")


def _programs(
    lines: list[str], max_blocks: int, reader: CodeReader, is_foreign: Callable[[str], bool]
) -> Iterator[AssemblyProgram | Piece]:
    """The paragraphs as blocks of digits, or as programs of one or more paragraphs."""
    paragraphs = list(_paragraphs(lines))
    if not any(_is_hex(part) for _, part in paragraphs):
        program = reader.listed_program(list(enumerate(lines, start=1)), is_foreign)
        if program is not None:
            yield program
            return
    if len(paragraphs) > max_blocks and not any(map(_may_be_joined, paragraphs)):
        _not_too_many(sum(map(_has_code, paragraphs)), max_blocks)
    program_of = reader.paragraph_reader(is_foreign)
    for first, part in _join(paragraphs, lines):
        if _is_hex(part):
            yield _of_digits(first, "\n".join(part), reader)
        else:
            yield program_of(part, first)


def _paragraphs(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, lines) of each paragraph; a comment of several lines is not split."""
    paragraph: list[str] = []
    first = 0
    is_open = False
    for number, (line, plain) in enumerate(zip(lines, lines_without_drawings(lines), strict=True), start=1):
        if plain.strip() or is_open:
            if not paragraph:
                first = number
            paragraph.append(line)
            is_open = line.rfind("/*") > line.rfind("*/") if "/*" in line or "*/" in line else is_open
        elif paragraph:
            yield first, paragraph
            paragraph = []
    if paragraph:
        yield first, paragraph


def _may_be_joined(paragraph: tuple[int, list[str]]) -> bool:
    text = "\n".join(paragraph[1])
    return bool(_JUMP.search(text)) or any(_region_marks(text))


def _region_marks(text: str) -> Iterator[str]:
    """Begins and ends of regions, in order."""
    lowered = text.lower()
    if any(word in lowered for word in _REGION_WORDS):
        for mark in _REGION.finditer(lowered):
            yield mark[1] or mark[2] or mark[3]


def _has_code(paragraph: tuple[int, list[str]]) -> bool:
    """Whether a paragraph contains more than comments and directives."""
    return any(line.strip() and not line.lstrip().startswith(_NO_CODE) for line in paragraph[1])


def _join(paragraphs: list[tuple[int, list[str]]], lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Paragraphs, joined where a jump leads between them or a marked region spans them."""
    if len(paragraphs) == 1:
        yield paragraphs[0]
        return
    labels = [set(_LABEL.findall("\n".join(part))) for _, part in paragraphs]
    owners: dict[str, list[int]] = {}
    for number, names in enumerate(labels):
        for name in names:
            owners.setdefault(name, []).append(number)
    last_joined = list(range(len(paragraphs)))
    region: int | None = None  # the paragraph in which an open one begins
    for number, (_, part) in enumerate(paragraphs):
        text = "\n".join(part)
        for name in _JUMP.findall(text):
            candidates = owners.get(name, [])
            if name not in labels[number] and candidates:
                nearest = min(candidates, key=lambda other: abs(other - number))
                low, high = sorted((number, nearest))
                last_joined[low] = max(last_joined[low], high)
        for mark in _region_marks(text):
            if region is not None:
                last_joined[region] = max(last_joined[region], number)
            region = number if mark in _BEGINS else None
    number = 0
    while number < len(paragraphs):
        last = last_joined[number]
        reached = number
        while reached <= last:
            last = max(last, last_joined[reached])
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
    filled = [(number, line.strip().lower()) for number, line in enumerate(lines, start=1) if line.strip()]
    titled = bool(filled) and filled[0][1].partition(",")[0].strip('"') in TITLES
    if not any(_CSV.fullmatch(line) for _, line in filled[titled : titled + 1]):
        return []  # nearly all texts
    matched = [(number, _CSV.fullmatch(line)) for number, line in filled[titled:]]
    rows = [(number, row.group(1)) for number, row in matched if row is not None]
    is_file = titled or any("," in line for _, line in filled)
    return rows if is_file and len(rows) == len(matched) else []


def _of_digits(line: int, digits: str, reader: CodeReader) -> AssemblyProgram | Piece:
    """A block; digits with jumps, calls or the like are a program like other code."""
    block = _block(line, digits, reader)
    steps = reader.steps_of(block.body)
    if all(step.flow == "next" for step in steps):
        return _digits_piece("", block, line)
    pairs = zip(block.instructions, steps, strict=True)
    instructions = (ProgramInstruction(line, instruction.text, step) for instruction, step in pairs)
    return AssemblyProgram(tuple(instructions))


def _digits_piece(name: str, block: Block, line: int) -> Piece:
    return Piece(name, block, line, lines=tuple(InstructionLine(line) for _ in block.listing))


def _block(line: int, digits: str, reader: CodeReader) -> Block:
    try:
        return reader.block_of_bytes(bytes_of_hex(digits))
    except BlockError as error:
        raise error.at(line + max(error.line - 1, 0)) from None
