"""The loops and straight pieces of a program, with their names and what was assumed of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from inference.isa.code.block import Block
from inference.isa.code.control_flow import LOOP, Cut, cut
from inference.isa.code.errors import BlockError, numbered
from inference.isa.code.program import AssemblyProgram, ProgramInstruction
from inference.isa.code.reader import CodeReader

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
