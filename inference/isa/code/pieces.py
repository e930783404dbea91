"""Loops and straight pieces of a program, with their names and the assumptions made for each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Protocol

from inference.isa.code.annotations import InstructionLine, SourcePlace
from inference.isa.code.block import Block, BlockError, DroppedLine, line_numbers
from inference.isa.code.control_flow import LOOP, CodePath, CodeStep, cut_into_pieces


class CodeReader(Protocol):
    """Decodes machine code and reads assembly. All methods raise `BlockError`."""

    def block_of_bytes(self, code: bytes) -> Block:
        """The block of machine code."""

    def steps_of(self, code: bytes) -> list[CodeStep]:
        """The instructions of machine code, including jumps."""

    def steps_of_region(self, code: bytes, address: int) -> Iterator[CodeStep]:
        """The instructions of arbitrary bytes: an undecodable byte ends a path, and is skipped."""

    def close_loop(self, body: bytes, jump: bytes) -> bytes | None:
        """The body with the shortest jump of this one's condition back to its first byte.

        None where such a jump cannot reach so far.
        """

    def listed_program(
        self, lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]
    ) -> AssemblyProgram | None:
        """The program of a listing, from numbered lines; None where they are no listing.

        `is_foreign`: whether a line is code of another instruction set.
        """

    def paragraph_reader(
        self, is_foreign: Callable[[str], bool]
    ) -> Callable[[list[str], int], AssemblyProgram]:
        """A function that reads the paragraphs of one text in order: (lines, number of the first line)."""


@dataclass(slots=True)  # frozen ones take three times as long to make
class ProgramInstruction:
    """An instruction of a program.

    Attributes:
        line: Number of its line in the text.
        step: Its address, machine code and control flow.
        labels: The names of its address.
        symbols: Names in it that are assumed to be 0.
        regions: Indices of the marked regions that contain it.
        count: Count of a profiler, None without.
        is_entry: A function begins with it.
        source: Its source line, None without.
        latency: Cycles that the user gave, None without.
    """

    line: int
    text: str
    step: CodeStep
    labels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    regions: frozenset[int] = frozenset()
    count: float | None = None
    is_entry: bool = False
    source: SourcePlace | None = None
    latency: float | None = None

    @property
    def address(self) -> int:
        return self.step.address

    @property
    def code(self) -> bytes:
        """Machine code of the instruction, jumps included."""
        return self.step.code


@dataclass(frozen=True)
class AssemblyProgram:
    """The instructions in the order of the text, {skipped directive or the like: number}, and named
    regions.

    Attributes:
        remarks: Numbers of lines with a comment behind a `;`.
        dropped: Lines that look like code and are in no instruction.
        notes: Further information missing from the text, in words.
    """

    instructions: tuple[ProgramInstruction, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[int, ...] = ()
    regions: tuple[str, ...] = ()
    dropped: tuple[DroppedLine, ...] = ()
    notes: tuple[str, ...] = ()


_MAX_NAMES = 6  # kinds that a message names


def notes_on(programs: Sequence[AssemblyProgram]) -> Iterator[str]:
    """Notes on ignored text: sentences without a full stop."""
    yield from (note for program in programs for note in program.notes)
    skipped: dict[str, int] = {}
    for program in programs:
        for name, count in program.skipped.items():
            skipped[name] = skipped.get(name, 0) + count
    if total := sum(skipped.values()):
        common = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
        names = ", ".join(f"{name} × {count}" if count > 1 else name for name, count in common[:_MAX_NAMES])
        remainder = f" and {len(common) - _MAX_NAMES} other kinds" if len(common) > _MAX_NAMES else ""
        kind = _plural(total, "directive") if all(name[0] in ".=" for name in skipped) else ""
        yield f"{kind or _plural(total, 'line') + ' without code'} ignored: {names}{remainder}"
    if remarks := [line for program in programs for line in program.remarks]:
        yield f"{_plural(len(remarks), 'comment')} behind a ; ignored: {line_numbers(remarks)}"
    if any(instruction.regions for instruction in programs):
        outside = sum(not instruction.regions for program in programs for instruction in program.instructions)
        if outside:
            yield f"{_plural(outside, 'instruction')} outside the marked regions ignored"


def _plural(count: int, name: str) -> str:
    return f"{count:,} {name}{'s' if count > 1 else ''}"


_LOCAL_LABELS = (".", "L")


@dataclass(frozen=True)
class Piece:
    """A block of the text: `line` is its first line, `count` that of a profiler, None without.

    Attributes:
        name: Its label or the like.
        notes: Assumptions and omissions, in words.
        lines: What the text has on each instruction of `Block.listing`, in its order.
    """

    name: str
    block: Block
    line: int
    notes: tuple[str, ...] = ()
    count: float | None = None
    lines: tuple[InstructionLine, ...] = ()

    @property
    def latencies(self) -> dict[int, float]:
        """{instruction of the listing: cycles} that the user gave (`# LATENCY 40`)."""
        return {number: line.latency for number, line in enumerate(self.lines) if line.latency is not None}


def pieces_of(program: AssemblyProgram, reader: CodeReader) -> list[Piece]:
    """The loops and straight pieces of a program, of its marked regions only where it has some.

    Raises `BlockError` for an empty region and for pieces that are too long.
    """
    if not program.regions:
        return _cut(program.instructions, reader)
    pieces: list[Piece] = []
    for number, name in enumerate(program.regions):
        inside = [instruction for instruction in program.instructions if number in instruction.regions]
        if not inside:
            raise BlockError(f"there is no instruction in the region {name or number + 1!r}")
        pieces += _of_region(_cut(inside, reader), name or f"region {number + 1}")
    return pieces


def with_names(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    used: dict[str, int] = {}
    named_pieces = []
    for number, piece in enumerate(pieces, start=1):
        name = piece.name or f"block {number}"
        used[name] = used.get(name, 0) + 1
        if used[name] > 1:
            name = f"{name} ({used[name]})"
        named_pieces.append(replace(piece, name=name))
    return tuple(named_pieces)


def piece_of(pieces: Sequence[Piece], name_or_number: str) -> Piece:
    """The piece with this name, or this number from 1. Raises `BlockError` with all names."""
    for number, piece in enumerate(pieces, start=1):
        if name_or_number in (piece.name, str(number)):
            return piece
    raise BlockError(f"there is no piece {name_or_number[:40]!r}; there are {names_in_words(pieces)}")


def names_in_words(pieces: Sequence[Piece]) -> str:
    """The names of pieces, and which of them are loops."""
    titles = [piece.name[:40] + (" (a loop)" if piece.block.kind == LOOP else "") for piece in pieces]
    return ", ".join(titles[:_MAX_NAMES]) + (" …" if len(titles) > _MAX_NAMES else "")


def _of_region(pieces: Sequence[Piece], region: str) -> list[Piece]:
    if len(pieces) == 1:
        return [replace(pieces[0], name=region)]
    return [replace(piece, name=f"{region}: {piece.name or f'line {piece.line}'}") for piece in pieces]


def _cut(instructions: Sequence[ProgramInstruction], reader: CodeReader) -> list[Piece]:
    if (open_loop := _open_loop(instructions, reader)) is not None:
        return [open_loop]
    functions = list(_functions(instructions))
    entries = {path.address for path in instructions if path.is_entry}
    return [
        _piece(path, instructions, _name(path, instructions, functions[path.steps[0]]), reader)
        for path in cut_into_pieces([path.step for path in instructions], entries)
    ]


def _functions(instructions: Sequence[ProgramInstruction]) -> Iterator[str]:
    """The name of each instruction's function, "" where there is none."""
    function = ""
    for instruction in instructions:
        names = [label for label in instruction.labels if not _is_local(label)]
        if names or (instruction.is_entry and instruction.labels):
            function = (*names, *instruction.labels)[0]
        yield function


def _is_local(label: str) -> bool:
    return label.startswith(_LOCAL_LABELS) or label.isdigit()


def _name(path: CodePath, instructions: Sequence[ProgramInstruction], function: str) -> str:
    """The label of a piece, or its line in its function; its first instruction may be an ignored jump."""
    labels = instructions[min(path.steps[:1] + path.ignored_branches[:1])].labels
    ranked = sorted(labels, key=lambda name: (name.isdigit(), _is_local(name)))
    line = instructions[path.steps[0]].line
    return ranked[0] if ranked else f"{function}, line {line}" if function else ""


def _piece(path: CodePath, program: Sequence[ProgramInstruction], name: str, reader: CodeReader) -> Piece:
    inside = [program[number] for number in path.steps]
    jumps = [program[number] for number in path.ignored_branches]
    code = b"".join(instruction.code for instruction in inside)
    notes = _symbol_notes(inside)
    closing = None
    if path.kind == LOOP and path.closing is not None:
        closing = program[path.closing]
        looped = reader.close_loop(code, closing.code)
        if looped is None:
            notes.append(f"{closing.text.strip()} cannot reach the beginning: only the body is used")
        code = looped or code
        notes += [f"{jump.text.strip()} (line {jump.line}) is assumed not taken" for jump in jumps]
        jumps.append(closing)
    return _block(name, reader, code, inside, notes, jumps, closing)


def _block(
    name: str,
    reader: CodeReader,
    code: bytes,
    inside: Sequence[ProgramInstruction],
    notes: Sequence[str],
    jumps: Sequence[ProgramInstruction],
    closing: ProgramInstruction | None,
) -> Piece:
    """A piece of a listing as a block, with the samples of its instructions and of the branches around it."""
    line = inside[0].line
    counts = [instruction.count for instruction in (*inside, *jumps) if instruction.count is not None]
    try:
        block = reader.block_of_bytes(code)
    except BlockError as error:
        raise error.at(line) from None
    lines = _lines(block, inside, closing)
    return Piece(name, block, line, tuple(notes), sum(counts) if counts else None, lines)


def _lines(
    block: Block, inside: Sequence[ProgramInstruction], closing: ProgramInstruction | None
) -> tuple[InstructionLine, ...]:
    """What the text has on each instruction of the block; one of the text may be several of the block."""
    starts = list(accumulate((len(step.code) for step in inside[:-1]), initial=0))
    lines = []
    offset = 0
    for instruction in block.instructions:
        number = bisect_right(starts, offset) - 1
        step = inside[number]
        begins = starts[number] == offset
        count, latency = (step.count, step.latency) if begins else (None, None)
        lines.append(InstructionLine(step.line, step.source, count, latency))
        offset += len(instruction.code)
    if block.closing is not None and closing is not None:
        lines.append(InstructionLine(closing.line, closing.source, closing.count, closing.latency))
    return tuple(lines)


def _open_loop(instructions: Sequence[ProgramInstruction], reader: CodeReader) -> Piece | None:
    """The body of a loop, where the text ends with its only jump, conditional and to an unknown target."""
    if len(instructions) < 2:
        return None
    *body, last = instructions
    if last.step.flow != "branch" or any(step.address == last.step.target for step in instructions):
        return None
    if any(step.step.flow != "next" for step in body) or any(step.is_entry for step in body[1:]):
        return None
    looped = reader.close_loop(b"".join(step.code for step in body), last.code)
    if looped is None:
        return None
    note = f"the target of {last.text.strip()} is not in the text: assumed to be the beginning"
    name, notes = next(iter(body[0].labels), ""), [*_symbol_notes(body), note]
    return _block(name, reader, looped, body, notes, [last], last)


def _symbol_notes(inside: Sequence[ProgramInstruction]) -> list[str]:
    """A note on names that are assumed to be 0."""
    names = list(dict.fromkeys(name for instruction in inside for name in instruction.symbols))
    if not names:
        return []
    listed = ", ".join(names[:_MAX_NAMES]) + (" …" if len(names) > _MAX_NAMES else "")
    return [f"{listed} {'are' if len(names) > 1 else 'is'} assumed to be 0"]
