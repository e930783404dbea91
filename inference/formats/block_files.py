"""Files with machine code: blocks, programs, or what a tool printed of one; which it is, and the loops in it.

Loops have weights: samples of a profiler, or how often they ran. Which ones are chosen is a `LoopFilter`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePath

from inference.core.texts import ORIGIN_LIMIT, count_of
from inference.formats import block_sets
from inference.formats.blocks_csv import ROW_LIMIT, is_block_csv
from inference.formats.other_formats import BEGINNING
from inference.formats.perf_places import Placed, placed
from inference.formats.perf_texts import is_annotate, is_script, read_samples
from inference.formats.problems import ExchangeError
from inference.isa.blocks import BlockError, DroppedLine, Piece, block_reader, read
from inference.isa.code.binaries.headers import BinaryFileError, is_binary
from inference.isa.code.binaries.loops import Loop, Search, loops_in, weighed
from inference.isa.code.binaries.program import CompiledProgram, Function, read_program
from inference.isa.targets import DEFAULT

_PULSE = 5000  # functions between two words

Told = Callable[[int, int], None]
"""Hears how much of how much is done; may raise in order to stop."""


class Weighing(StrEnum):
    """What the weight of a loop is."""

    SAMPLES = "samples"
    """Samples in it: the time that was spent there."""
    ITERATIONS = "iterations"
    """Jumps back to its begin in the processor's branch records: how often it ran."""


@dataclass(frozen=True)
class LoopFilter:
    """Which loops. `functions`: a name or a pattern like `mat*`, "" for all.

    Of samples, `program`: how perf calls the file, "" to find out; `least`: per cent of all samples that a
    loop has at least. `keys`: just these loops, by `FoundLoop.key`; () for all.
    """

    functions: str = ""
    program: str = ""
    weighing: Weighing = Weighing.SAMPLES
    least: float = 0.0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundLoop:
    """A loop with its weight, and of samples the share of all, in per cent."""

    key: str
    function: str
    address: int | None
    code: bytes
    instructions: int
    left_out: int
    weight: float
    percent: float | None

    def origin(self, file_name: str) -> str:
        """Where it is from: `a.out, dot, 0x11c8`."""
        place = "" if self.address is None else f", {self.address:#x}"
        return f"{PurePath(file_name).name[:80]}, {self.function}{place}"[:ORIGIN_LIMIT]


def chosen_loops(loops: Iterable[FoundLoop], wanted: LoopFilter) -> tuple[tuple[FoundLoop, ...], int]:
    """Those with a wanted key, if any is named, and enough of the samples; and how many have less."""
    keys = set(wanted.keys)
    named = [loop for loop in loops if not keys or loop.key in keys]
    chosen = tuple(loop for loop in named if (loop.percent or 0.0) >= wanted.least)
    return chosen, len(named) - len(chosen)


@dataclass(frozen=True)
class ProgramLoops:
    """The loops, the heaviest first where there are samples, else in the order of the file.

    `below`: how many have a smaller share than was wanted. `total`, `inside`, `lost`, `elsewhere`: samples of
    the recording, in these loops, without a place in the file (with reasons), in other files (with names).
    `notes`: what of a listing is in no loop and no straight piece.
    """

    kind: str
    functions: int
    bytes: int
    loops: tuple[FoundLoop, ...]
    too_long: int
    below: int = 0
    event: str = ""
    total: float | None = None
    inside: float = 0.0
    lost: tuple[tuple[str, float], ...] = ()
    elsewhere: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """What a search has to tell, a line each."""
        functions = count_of(self.functions, "function")
        found = [f"{count_of(len(self.loops), 'loop')} in {functions}, {self.bytes:,} bytes of code"]
        if self.total is not None:
            share = f"{100 * self.inside / self.total:.1f} % of " if self.total else ""
            event = f" of {self.event}" if self.event else ""
            found.append(f"{share}{_number(self.total)} samples{event} are in these loops")
        if self.below:
            found.append(f"with a smaller share of the samples: {count_of(self.below, 'loop')}")
        if self.too_long:
            found.append(f"too long for a basic block: {count_of(self.too_long, 'loop')}")
        found += [f"{_number(number)} samples are {why}" for why, number in self.lost]
        if self.elsewhere:
            names = ", ".join(f"{name} ({_number(number)})" for name, number in self.elsewhere)
            found.append(f"samples in other files: {names}")
        found += self.notes
        return found


def find_loops(
    content: bytes,
    file_name: str,
    wanted: LoopFilter,
    samples: tuple[bytes, str] | None = None,
    told: Told = lambda done, of: None,
) -> ProgramLoops:
    """`samples`: content and name of a text of perf's. Raises `ExchangeError`."""
    try:
        program = read_program(content)
        if samples is None:
            return _all_loops(program, file_name, wanted, told)
        told(0, 1)
        text = read_samples(*samples, lambda: told(0, 1))
        where = placed(text, program, file_name, wanted.program)
        return _sampled_loops(program, file_name, where, wanted, told)
    except BinaryFileError as error:
        raise ExchangeError(f"{file_name}: {error}") from error


def _all_loops(program: CompiledProgram, file_name: str, wanted: LoopFilter, told: Told) -> ProgramLoops:
    search = Search()
    loops = loops_in(
        program, _functions(program, file_name, wanted.functions, told), search, block_reader(DEFAULT), told
    )
    keys = set(wanted.keys)
    found = tuple(_found(loop, 1.0, None) for loop in loops if not keys or loop.key in keys)
    kind = f"{program.kind} (ELF)"
    return ProgramLoops(kind, search.functions, search.code, _bounded(found, file_name), search.too_long)


def _functions(program: CompiledProgram, file_name: str, wanted: str, told: Told) -> list[Function]:
    functions = []
    for number, one in enumerate(program.functions(wanted)):
        functions.append(one)
        if number % _PULSE == 0:
            told(0, 1)
    if not functions:
        known = ", ".join(one.name for one, _ in zip(program.functions(), range(5), strict=False))
        raise ExchangeError(f"{file_name} has no function {wanted!r}; it has, for example, {known}")
    return functions


def _sampled_loops(
    program: CompiledProgram, file_name: str, where: Placed, wanted: LoopFilter, told: Told
) -> ProgramLoops:
    iterations = wanted.weighing is Weighing.ITERATIONS
    if iterations and not where.jumps:
        raise ExchangeError(
            "the samples have no branch records: record with `perf record -b` and print with `-F +brstack`"
        )
    places = sorted({*where.counts, *(begin for begin, _ in where.jumps)})
    functions = [
        one for one in _functions(program, file_name, wanted.functions, told) if _has_any(one, places)
    ]
    search = Search()
    loops = list(loops_in(program, functions, search, block_reader(DEFAULT), told))
    total = where.total
    percents = {loop.key: 100 * number / (total or 1) for loop, number in weighed(loops, where.counts)}
    if iterations:
        pairs = [(loop, float(where.jumps[loop.closing, loop.begin])) for loop in loops]
        pairs = sorted((pair for pair in pairs if pair[1]), key=lambda pair: -pair[1])
    else:
        pairs = weighed(loops, where.counts)
    loops_found = (_found(loop, round(number, 4), percents.get(loop.key, 0.0)) for loop, number in pairs)
    chosen, below = chosen_loops(loops_found, wanted)
    return ProgramLoops(
        f"{program.kind} (ELF)",
        search.functions,
        search.code,
        _bounded(chosen, file_name),
        search.too_long,
        below,
        where.event,
        round(total, 4),
        round(sum(one.percent or 0.0 for one in chosen) * total / 100, 4),
        tuple(where.lost.most_common()),
        tuple(where.elsewhere.most_common(5)),
    )


def _has_any(function: Function, places: Sequence[int]) -> bool:
    at = bisect_left(places, function.address)
    return at < len(places) and places[at] < function.address + function.size


def _found(loop: Loop, weight: float, percent: float | None) -> FoundLoop:
    return FoundLoop(
        loop.key,
        loop.function.name,
        loop.begin,
        loop.code,
        loop.instructions,
        len(loop.left_out),
        weight,
        percent,
    )


def _bounded(loops: tuple[FoundLoop, ...], file_name: str) -> tuple[FoundLoop, ...]:
    if len(loops) > ROW_LIMIT:
        raise ExchangeError(
            f"{file_name} has {len(loops):,} loops, of {ROW_LIMIT:,} at most: choose functions by their names"
        )
    return loops


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.4g}"


TITLE = "listing of machine code"
_MOST_DROPPED = 20
_HEAD = re.compile(r"(?m)^\S.{,500}:[ \t]+file format \S+|^Disassembly of section \S{,500}:[ \t]*$")


def is_listing(beginning: str) -> bool:
    """Whether a text that begins so is a listing of a profiler or a disassembler."""
    return bool(_HEAD.search(beginning[:4000])) or is_annotate(beginning)


def find_listed_loops(
    content: bytes, file_name: str, wanted: LoopFilter, told: Callable[[int, int], None]
) -> ProgramLoops:
    """Weighed by their samples where the listing has some, else by 1 each. Raises `ExchangeError`."""
    text = content.decode("utf-8-sig", "replace")
    told(0, 1)
    try:
        reading = read(text, ROW_LIMIT)
    except BlockError as error:
        raise ExchangeError(f"{file_name}: {error}") from error
    told(1, 1)
    counted = any(piece.count is not None for piece in reading.pieces)
    total = sum(piece.count or 0.0 for piece in reading.pieces)
    loops = [
        _loop(piece, number, total if counted else None)
        for number, piece in enumerate(reading.pieces)
        if piece.block.kind == "loop" and (not wanted.functions or fnmatchcase(piece.name, wanted.functions))
    ]
    if counted:
        loops = sorted((one for one in loops if one.weight), key=lambda one: -one.weight)
    chosen, below = chosen_loops(loops, wanted)
    return ProgramLoops(
        TITLE,
        len({piece.name for piece in reading.pieces}),
        sum(len(piece.block.code) for piece in reading.pieces),
        chosen,
        0,
        below,
        total=round(total, 4) if counted else None,
        inside=round(sum(one.weight for one in chosen), 4),
        notes=(*_on_dropped(reading.dropped), *reading.notes),
    )


def _on_dropped(dropped: Sequence[DroppedLine]) -> Iterator[str]:
    yield from map(str, dropped[:_MOST_DROPPED])
    if len(dropped) > _MOST_DROPPED:
        yield f"and {len(dropped) - _MOST_DROPPED:,} other lines that look like code"


def _loop(piece: Piece, number: int, total: float | None) -> FoundLoop:
    count = 1.0 if total is None else piece.count or 0.0
    return FoundLoop(
        str(number),
        piece.name,
        None,
        piece.block.code,
        len(piece.block.instructions),
        0,
        round(count, 4),
        None if total is None else 100 * count / (total or 1.0),
    )


class BlockFileSort(StrEnum):
    """What a file brings that becomes a basic-block set, by its format."""

    BLOCKS = block_sets.TITLE
    PROGRAM = "compiled program"
    LISTING = "listing of machine code"
    SAMPLES = "samples of a profiler"


def block_file_of(content: bytes) -> BlockFileSort | None:
    """What a file is whose content is this or begins so; None for anything else."""
    beginning = content[:BEGINNING]
    if is_binary(beginning):
        return BlockFileSort.PROGRAM
    text = beginning.decode("utf-8-sig", "replace")
    if is_listing(text):
        return BlockFileSort.LISTING
    if is_script(text):
        return BlockFileSort.SAMPLES
    return BlockFileSort.BLOCKS if is_block_csv(beginning) else None
