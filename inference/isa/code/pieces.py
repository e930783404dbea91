"""The loops and straight pieces of a program, with their names and what was assumed of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from inference.isa.code.block import Block, BlockError, DroppedLine, numbered
from inference.isa.code.control_flow import LOOP, CodeStep, Cut, cut


class CodeReader(Protocol):
    """Decodes machine code and reads assembly. All raise `BlockError`."""

    def block_of_bytes(self, code: bytes) -> Block:
        """The block of machine code."""

    def steps_of(self, code: bytes) -> list[CodeStep]:
        """The instructions of machine code, jumps among them."""

    def steps_of_region(self, code: bytes, address: int) -> Iterator[CodeStep]:
        """The same of any bytes: what is no instruction ends a path, and what follows is tried then."""

    def closed(self, body: bytes, jump: bytes) -> bytes | None:
        """The body with a jump of this one's condition back to its first byte, as short as can be.

        None where such a jump cannot lead so far.
        """

    def listed_program(
        self, lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]
    ) -> AssemblyProgram | None:
        """The program of a listing; None where the lines, each with its number, are none.

        `is_foreign`: whether a line is code of another instruction set, and no heading or the like.
        """

    def paragraph_reader(
        self, is_foreign: Callable[[str], bool]
    ) -> Callable[[list[str], int], AssemblyProgram]:
        """Reads (lines, number of the first) of the paragraphs of one text, in their order."""


@dataclass(slots=True)  # frozen ones take three times as long to make
class ProgramInstruction:
    """An instruction: where it stands in the text and in memory, its machine code, and how it goes on.

    `symbols`: the names in it that are taken as 0. `regions`: numbers of the regions that it is in. `count`:
    of a profiler. `labels`: the names of its address. `is_entry`: a function begins with it.
    """

    line: int
    text: str
    step: CodeStep
    labels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    regions: frozenset[int] = frozenset()
    count: float | None = None
    is_entry: bool = False

    @property
    def address(self) -> int:
        return self.step.address

    @property
    def code(self) -> bytes:
        """Its machine code, that of jumps too."""
        return self.step.code


@dataclass(frozen=True)
class AssemblyProgram:
    """The instructions in the order of the text, what was passed over (how often each), and named regions.

    `remarks`: the lines of text behind a `;` that is no statement. `dropped`: lines that look like code and
    are in no instruction. `notes`: what else the text did not tell, in words.
    """

    instructions: tuple[ProgramInstruction, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[int, ...] = ()
    regions: tuple[str, ...] = ()
    dropped: tuple[DroppedLine, ...] = ()
    notes: tuple[str, ...] = ()


_SHOWN = 6


def notes_on(programs: Sequence[AssemblyProgram]) -> Iterator[str]:
    """What a reader passed over in a text and where it cut: sentences without a full stop."""
    yield from (note for program in programs for note in program.notes)
    skipped: dict[str, int] = {}
    for program in programs:
        for name, count in program.skipped.items():
            skipped[name] = skipped.get(name, 0) + count
    if total := sum(skipped.values()):
        common = sorted(skipped.items(), key=lambda one: (-one[1], one[0]))
        shown = ", ".join(f"{name} × {count}" if count > 1 else name for name, count in common[:_SHOWN])
        more = f" and {len(common) - _SHOWN} other kinds" if len(common) > _SHOWN else ""
        yield f"{_counted(total, 'line')} without code passed over: {shown}{more}"
    if remarks := [line for program in programs for line in program.remarks]:
        yield f"{_counted(len(remarks), 'remark')} behind a ; passed over: {numbered(remarks)}"
    if any(one.regions for one in programs):
        outside = sum(not one.regions for program in programs for one in program.instructions)
        if outside:
            yield f"{_counted(outside, 'instruction')} outside the marked regions passed over"
    flows = [one.step.flow for program in programs for one in program.instructions]
    ends = {
        "jump": flows.count("jump") + flows.count("branch"),
        "call": flows.count("call"),
        "return": flows.count("end"),
    }
    if any(ends.values()):
        yield f"blocks end at {', '.join(_counted(count, name) for name, count in ends.items() if count)}"


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'s' if count > 1 else ''}"


_LOCAL_LABELS = (".", "L")


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


def pieces_of(program: AssemblyProgram, reader: CodeReader) -> list[Piece]:
    """The loops and straight pieces of a program, of its regions alone where it has some.

    Raises `BlockError` for an empty region and for pieces that are too long.
    """
    if not program.regions:
        return _cut(program.instructions, reader)
    found: list[Piece] = []
    for number, name in enumerate(program.regions):
        inside = [one for one in program.instructions if number in one.regions]
        if not inside:
            raise BlockError(f"there is no instruction in the region {name or number + 1!r}")
        found += _of_region(_cut(inside, reader), name or f"region {number + 1}")
    return found


def named(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces with a name each, all of them different."""
    used: dict[str, int] = {}
    found = []
    for number, piece in enumerate(pieces, start=1):
        name = piece.name or f"block {number}"
        used[name] = used.get(name, 0) + 1
        if used[name] > 1:
            name = f"{name} ({used[name]})"
        found.append(replace(piece, name=name))
    return tuple(found)


def piece_of(pieces: Sequence[Piece], wanted: str) -> Piece:
    """The piece of this name, or of this number from 1. Raises `BlockError` that lists all."""
    for number, piece in enumerate(pieces, start=1):
        if wanted in (piece.name, str(number)):
            return piece
    raise BlockError(f"there is no piece {wanted[:40]!r}; there are {listed(pieces)}")


def listed(pieces: Sequence[Piece]) -> str:
    """Their names, and which are loops."""
    shown = [f"{one.name[:40]} (a loop)" if one.block.kind == LOOP else one.name[:40] for one in pieces]
    return ", ".join(shown[:_SHOWN]) + (" …" if len(shown) > _SHOWN else "")


def _of_region(pieces: Sequence[Piece], region: str) -> list[Piece]:
    if len(pieces) == 1:
        return [replace(pieces[0], name=region)]
    return [replace(one, name=f"{region}: {one.name or f'line {one.line}'}") for one in pieces]


def _cut(instructions: Sequence[ProgramInstruction], reader: CodeReader) -> list[Piece]:
    if (alone := _open_loop(instructions, reader)) is not None:
        return [alone]
    functions = list(_functions(instructions))
    entries = {one.address for one in instructions if one.is_entry}
    return [
        _piece(one, instructions, _name(one, instructions, functions[one.steps[0]]), reader)
        for one in cut([one.step for one in instructions], entries)
    ]


def _functions(instructions: Sequence[ProgramInstruction]) -> Iterator[str]:
    """The name of the function that each instruction is in, "" where there is none."""
    function = ""
    for one in instructions:
        names = [label for label in one.labels if not _is_local(label)]
        if names or (one.is_entry and one.labels):
            function = (*names, *one.labels)[0]
        yield function


def _is_local(label: str) -> bool:
    return label.startswith(_LOCAL_LABELS) or label.isdigit()


def _name(one: Cut, instructions: Sequence[ProgramInstruction], function: str) -> str:
    """Its label, or where it is in its function; a jump that it leaves out may come first."""
    labels = instructions[min(one.steps[:1] + one.left_out[:1])].labels
    told = sorted(labels, key=lambda name: (name.isdigit(), _is_local(name)))
    line = instructions[one.steps[0]].line
    return told[0] if told else f"{function}, line {line}" if function else ""


def _piece(one: Cut, instructions: Sequence[ProgramInstruction], name: str, reader: CodeReader) -> Piece:
    inside = [instructions[number] for number in one.steps]
    jumps = [instructions[number] for number in one.left_out]
    code = b"".join(each.code for each in inside)
    notes = _assumed(inside)
    if one.kind == LOOP and one.closing is not None:
        closing = instructions[one.closing]
        looped = reader.closed(code, closing.code)
        if looped is None:
            notes.append(f"{closing.text.strip()} cannot lead back so far: the body without it")
        code = looped or code
        notes += [
            f"{jump.text.strip()} (line {jump.line}) is taken as not jumping, and left out" for jump in jumps
        ]
        jumps.append(closing)
    return _made(name, reader, code, inside, notes, jumps)


def _made(
    name: str,
    reader: CodeReader,
    code: bytes,
    inside: Sequence[ProgramInstruction],
    notes: Sequence[str],
    jumps: Sequence[ProgramInstruction],
) -> Piece:
    line = inside[0].line
    counts = [each.count for each in (*inside, *jumps) if each.count is not None]
    try:
        block = reader.block_of_bytes(code)
    except BlockError as error:
        raise error.at(line) from None
    return Piece(name, block, line, tuple(notes), sum(counts) if counts else None)


def _open_loop(instructions: Sequence[ProgramInstruction], reader: CodeReader) -> Piece | None:
    """A text that ends with its only jump, of a condition and to somewhere else: the body of a loop."""
    if len(instructions) < 2:
        return None
    *body, last = instructions
    if last.step.flow != "branch" or any(one.address == last.step.target for one in instructions):
        return None
    if any(one.step.flow != "next" for one in body) or any(one.is_entry for one in body[1:]):
        return None
    looped = reader.closed(b"".join(one.code for one in body), last.code)
    if looped is None:
        return None
    note = f"where {last.text.strip()} leads is not in the text: taken for the jump back to the beginning"
    return _made(next(iter(body[0].labels), ""), reader, looped, body, [*_assumed(body), note], [last])


def _assumed(inside: Sequence[ProgramInstruction]) -> list[str]:
    """Which names are taken as 0, in words."""
    names = list(dict.fromkeys(name for one in inside for name in one.symbols))
    if not names:
        return []
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return [f"{shown}: taken as 0" if len(names) > 1 else f"{shown} is taken as 0"]
