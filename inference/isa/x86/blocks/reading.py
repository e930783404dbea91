"""What somebody pastes, as basic blocks: machine code, assembly, listings, or lines of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iced_x86 import Decoder

from inference.isa.aarch64.recognising import NOT_SUPPORTED, looks_like_aarch64
from inference.isa.x86.assembly.disassembly import program_of_listing
from inference.isa.x86.assembly.encoding import encode_jump
from inference.isa.x86.assembly.errors import BlockError
from inference.isa.x86.assembly.listings import listing_of
from inference.isa.x86.assembly.program import Program, ProgramInstruction
from inference.isa.x86.assembly.reading import program_of_lines
from inference.isa.x86.assembly.source import lines_of
from inference.isa.x86.blocks.block import Block, block_of_bytes, block_of_hex
from inference.isa.x86.control_flow import LOOP, Cut, cut
from inference.isa.x86.forms import MNEMONICS

TITLES = ("bb", "hex", "block", "code", "bytes")
"""What the first column of a CSV file of blocks is called."""

_HEX = re.compile(r"[0-9a-f\s]+|(0x[0-9a-f]{2}[\s,]*)+|(\\x[0-9a-f]{2}\s*)+")
_CSV = re.compile(r"\"?((?:[0-9a-f]{2})+)\"?(,[^,\n]*)*")
_JUMP = re.compile(r"(?:^|[\s:;])(?:j[a-z]{1,5}|loop[a-z]*)\s+([^\s#;]+)", re.IGNORECASE)
_LABEL = re.compile(r"^[ \t]*(\"[^\"\n]+\"|[\w.$?@]+)[ \t]*:", re.MULTILINE)
_COMPILED = re.compile(
    r"^[ \t]*\.(?:intel_syntax|att_syntax|text|section|data|file|globl|type)\b", re.MULTILINE
)
_SHOWN = 6


@dataclass(frozen=True)
class Piece:
    """A block of the text: `line` is where it begins, `count` what a profiler says of it, None without one.

    `name`: its label or the like. `notes`: what was assumed or left out, in words.
    """

    name: str
    block: Block
    line: int
    notes: tuple[str, ...] = ()
    count: float | None = None


@dataclass(frozen=True)
class Reading:
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


def read(text: str, most: int) -> Reading:
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


def _read(text: str, most: int) -> Reading:
    lines = lines_of(text)
    pieces: list[Piece] = []
    skipped, notes = 0, []
    if rows := _rows(lines):
        _not_too_many(len(rows), most)
        pieces = [Piece(f"line {number}", _block(number, digits), number) for number, digits in rows]
        return Reading(tuple(pieces))
    for program in _programs(lines, most):
        if isinstance(program, Piece):
            pieces.append(program)
            continue
        pieces += pieces_of(program)
        skipped += sum(program.skipped.values())
        notes += _notes_on(program)
        _not_too_many(len(pieces), most)
    if not pieces:
        raise BlockError(
            "there is no block: paste assembly, a listing, or machine code in hexadecimal digits"
            if not any(line.strip() for line in lines)
            else "there is no instruction but jumps, calls and returns: a block is what is between them"
        )
    _not_too_many(len(pieces), most)
    return Reading(_named(pieces), skipped, tuple(dict.fromkeys(notes)))


def _not_too_many(count: int, most: int) -> None:
    if count > most:
        blocks = "block" if most == 1 else "blocks"
        raise BlockError(f"at most {most:,} {blocks} at a time, not {count:,}")


def _programs(lines: list[str], most: int) -> Iterator[Program | Piece]:
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
            yield Piece("", _block(first, "\n".join(part)), first)
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


def _block(line: int, digits: str) -> Block:
    try:
        return block_of_hex(digits)
    except BlockError as error:
        raise error.at(line + max(error.line - 1, 0)) from None


# --------------------------------------------------------------------------- pieces of programs


def pieces_of(program: Program) -> list[Piece]:
    """The loops and straight pieces of a program, of its regions alone where it has some."""
    if not program.regions:
        return list(_cut(program.instructions, ""))
    found: list[Piece] = []
    for number, name in enumerate(program.regions):
        inside = [one for one in program.instructions if number in one.regions]
        if not inside:
            raise BlockError(f"there is no instruction in the region {name or number + 1!r}")
        found += _cut(inside, name or f"region {number + 1}")
    return found


def _cut(instructions: Sequence[ProgramInstruction], region: str) -> Iterator[Piece]:
    steps = [one.step for one in instructions]
    entries = {one.address for one in instructions if one.is_entry}
    if (alone := _open_loop(instructions)) is not None:
        yield alone
        return
    cuts = cut(steps, entries)
    function = ""
    names = {}
    for number, one in enumerate(instructions):
        if one.labels and (
            one.is_entry or (not one.labels[-1].startswith((".", "L")) and not one.labels[-1].isdigit())
        ):
            function = one.labels[-1]
        names[number] = function
    for one in cuts:
        first = instructions[one.steps[0]]
        begin = instructions[min(one.steps[:1] + one.left_out[:1])]
        label = next((name for name in begin.labels if not name.isdigit()), "") or next(
            iter(begin.labels), ""
        )
        inside = names[one.steps[0]]
        name = label or (f"{inside}, line {first.line}" if inside else "")
        if region:
            name = region if len(cuts) == 1 else f"{region}: {name or f'line {first.line}'}"
        yield _piece(one, instructions, name)


def _piece(one: Cut, instructions: Sequence[ProgramInstruction], name: str) -> Piece:
    inside = [instructions[number] for number in one.steps]
    code = b"".join(each.code for each in inside)
    line = inside[0].line
    notes = _assumed(inside)
    if one.kind == LOOP and one.closing is not None:
        closing = instructions[one.closing]
        looped = closed(code, closing.code)
        if looped is None:
            notes.append(f"{closing.text.strip()} cannot lead back so far: the body without it")
        code = looped or code
        for number in one.left_out:
            jump = instructions[number]
            notes.append(f"{jump.text.strip()} (line {jump.line}) is taken as not jumping, and left out")
    jumps = [instructions[number] for number in (*one.left_out, one.closing) if number is not None]
    counts = [each.count for each in (*inside, *jumps) if each.count is not None]
    return Piece(name, _decoded(code, line), line, tuple(notes), sum(counts) if counts else None)


def closed(body: bytes, jump: bytes) -> bytes | None:
    """The body with a jump of the same condition back to its first byte, as short as can be."""
    mnemonic = _mnemonic_of(jump)
    for bits in (8, 32):
        size = len(encode_jump(mnemonic, 0, bits) or b"")
        if size and len(body) + size <= 2 ** (bits - 1):
            return body + (encode_jump(mnemonic, -(len(body) + size), bits) or b"")
    return None


def _mnemonic_of(jump: bytes) -> str:
    return MNEMONICS[Decoder(64, jump).decode().mnemonic]


def _open_loop(instructions: Sequence[ProgramInstruction]) -> Piece | None:
    """A text that ends with its only jump, of a condition and to somewhere else: the body of a loop."""
    if len(instructions) < 2:
        return None
    *body, last = instructions
    if last.step.flow != "branch" or (
        last.step.target is not None and _is_within(last.step.target, instructions)
    ):
        return None
    if any(one.step.flow != "next" for one in body) or any(one.is_entry for one in body[1:]):
        return None
    code = b"".join(one.code for one in body)
    looped = closed(code, last.code)
    if looped is None:
        return None
    note = f"where {last.text.strip()} leads is not in the text: it is taken for the jump back to the first instruction"
    counts = [one.count for one in body if one.count is not None]
    name = next(iter(body[0].labels), "")
    return Piece(
        name,
        _decoded(looped, body[0].line),
        body[0].line,
        (*_assumed(body), note),
        sum(counts) if counts else None,
    )


def _is_within(address: int, instructions: Sequence[ProgramInstruction]) -> bool:
    return any(one.address == address for one in instructions)


def _assumed(inside: Sequence[ProgramInstruction]) -> list[str]:
    names = list(dict.fromkeys(name for one in inside for name in one.symbols))
    if not names:
        return []
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return [f"{shown}: taken as 0" if len(names) > 1 else f"{shown} is taken as 0"]


def _decoded(code: bytes, line: int) -> Block:
    try:
        return block_of_bytes(code)
    except BlockError as error:
        raise error.at(line) from None


def _named(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces with a name each, all of them different."""
    used: dict[str, int] = {}
    found = []
    for number, piece in enumerate(pieces, start=1):
        name = piece.name or f"block {number}"
        used[name] = used.get(name, 0) + 1
        if used[name] > 1:
            name = f"{name} ({used[name]})"
        found.append(Piece(name, piece.block, piece.line, piece.notes, piece.count))
    return tuple(found)


def _notes_on(program: Program) -> Iterator[str]:
    """What was passed over, in words."""
    if program.skipped:
        total = sum(program.skipped.values())
        common = sorted(program.skipped.items(), key=lambda one: (-one[1], one[0]))
        shown = ", ".join(f"{name} × {count}" if count > 1 else name for name, count in common[:_SHOWN])
        more = f" and {len(common) - _SHOWN} other kinds" if len(common) > _SHOWN else ""
        yield f"{total:,} {'lines that are' if total > 1 else 'line that is'} no code passed over: {shown}{more}"
    if program.remarks:
        yield (
            f"{program.remarks:,} remarks behind a ; passed over"
            if program.remarks > 1
            else "1 remark behind a ; passed over"
        )
    if program.regions:
        outside = sum(not one.regions for one in program.instructions)
        if outside:
            yield f"{outside:,} instructions outside the marked regions passed over"
    flows = [one.step.flow for one in program.instructions]
    ends = [
        (flows.count("jump") + flows.count("branch"), "jump"),
        (flows.count("call"), "call"),
        (flows.count("end"), "return or the like"),
    ]
    told = [
        f"{count:,} {what}{'s' if count > 1 and what != 'return or the like' else ''}"
        for count, what in ends
        if count
    ]
    if told:
        yield f"blocks end at {', '.join(told)}"
