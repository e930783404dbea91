"""Files with machine code: detects block sets, programs, listings and profiles, and finds their loops.

A loop's weight is the number of a profiler's samples in it, or how often it ran. `LoopFilter` selects loops.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePath

from inference.core.texts import ORIGIN_LIMIT, count_of
from inference.formats import blocks_csv
from inference.formats.block_tables import is_block_table
from inference.formats.blocks_csv import ROW_LIMIT
from inference.formats.other_formats import BEGINNING
from inference.formats.perf_places import PlacedSamples, place_samples
from inference.formats.perf_texts import is_annotate, is_script, read_samples
from inference.formats.problems import ExchangeError
from inference.isa.blocks import BlockError, DroppedLine, Piece, block_reader, ranked_pieces, read
from inference.isa.code.binaries.headers import BinaryFileError, is_binary
from inference.isa.code.binaries.loops import Loop, Search, loops_in, weighted_loops
from inference.isa.code.binaries.program import CompiledProgram, Function, read_program
from inference.isa.code.source import lines_of

_PROGRESS_INTERVAL = 5000  # functions between two reports

OnProgress = Callable[[int, int], None]
"""Called with (done, total); raises in order to stop the search."""


class Weighing(StrEnum):
    SAMPLES = "samples"
    """Samples in the loop: the time spent there."""
    ITERATIONS = "iterations"
    """Jumps to its beginning in the processor's branch records (LBR): how often it ran."""


@dataclass(frozen=True)
class LoopFilter:
    """Selects loops.

    `functions`: a name or a pattern like `mat*`, "" for all. `program`: what perf calls the file, "" to
    detect it. `least`: per cent of all samples that a loop has at least. `keys`: only these loops, by
    `WeightedLoop.key`; () for all.
    """

    functions: str = ""
    program: str = ""
    weighing: Weighing = Weighing.SAMPLES
    least: float = 0.0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WeightedLoop:
    """A loop with its weight. `percent`: its share of all samples, None without samples.

    `excerpt`: its part of a listing, with source lines and samples; "" where that is no text for one page.
    """

    key: str
    function: str
    address: int | None
    code: bytes
    instructions: int
    left_out: int
    weight: float
    percent: float | None
    excerpt: str = ""

    def origin(self, file_name: str) -> str:
        """File, function and address: `a.out, dot, 0x11c8`."""
        place = "" if self.address is None else f", {self.address:#x}"
        return f"{PurePath(file_name).name[:80]}, {self.function}{place}"[:ORIGIN_LIMIT]


def chosen_loops(loops: Iterable[WeightedLoop], criteria: LoopFilter) -> tuple[tuple[WeightedLoop, ...], int]:
    """(loops with one of the filter's keys and enough samples, how many have too few samples)."""
    keys = set(criteria.keys)
    named = [loop for loop in loops if not keys or loop.key in keys]
    selection = tuple(loop for loop in named if (loop.percent or 0.0) >= criteria.least)
    return selection, len(named) - len(selection)


@dataclass(frozen=True)
class ProgramLoops:
    """The loops, the heaviest first where there are samples, else in the order of the file.

    `kind`: the format of the file; `isa`: the name of the loops' instruction set.
    `below`: loops with a smaller share than `LoopFilter.least`. `total`: samples of the recording; of them,
    `inside`: in these loops; `lost`: not placed in the file, by reason; `elsewhere`: in other files, by name.
    `notes`: lines of a listing that are in no block.
    """

    kind: str
    isa: str
    functions: int
    bytes: int
    loops: tuple[WeightedLoop, ...]
    too_long: int
    below: int = 0
    event: str = ""
    total: float | None = None
    inside: float = 0.0
    lost: tuple[tuple[str, float], ...] = ()
    elsewhere: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        functions = count_of(self.functions, "function")
        lines = [f"{count_of(len(self.loops), 'loop')} in {functions}, {self.bytes:,} bytes of code"]
        if self.total is not None:
            share = f"{100 * self.inside / self.total:.1f} % of " if self.total else ""
            event = f" of {self.event}" if self.event else ""
            lines.append(f"{share}{_number(self.total)} samples{event} are in these loops")
        if self.below:
            lines.append(f"with a smaller share of the samples: {count_of(self.below, 'loop')}")
        if self.too_long:
            lines.append(f"too long for a basic block: {count_of(self.too_long, 'loop')}")
        lines += [f"{_number(number)} samples are {why}" for why, number in self.lost]
        if self.elsewhere:
            names = ", ".join(f"{name} ({_number(number)})" for name, number in self.elsewhere)
            lines.append(f"samples in other files: {names}")
        lines += self.notes
        return lines


def find_loops(
    content: bytes,
    file_name: str,
    criteria: LoopFilter,
    samples: tuple[bytes, str] | None = None,
    report: OnProgress = lambda done, of: None,
) -> ProgramLoops:
    """Find the loops of a compiled program.

    Args:
        content: The file.
        file_name: Name of the file, for messages.
        criteria: Which loops to return.
        samples: (content, name) of what `perf script` or `perf annotate` printed; None: every loop weighs 1.
        report: Called with (done, total).

    Raises:
        ExchangeError: The file cannot be read, has no such function, or the samples belong to another file.
    """
    try:
        program = read_program(content)
        if samples is None:
            return _all_loops(program, file_name, criteria, report)
        report(0, 1)
        text = read_samples(*samples, lambda: report(0, 1))
        placed_samples = place_samples(text, program, file_name, criteria.program)
        return _sampled_loops(program, file_name, placed_samples, criteria, report)
    except (BinaryFileError, BlockError) as error:
        raise ExchangeError(f"{file_name}: {error}") from error


def _all_loops(
    program: CompiledProgram, file_name: str, criteria: LoopFilter, report: OnProgress
) -> ProgramLoops:
    search = Search()
    functions = _functions(program, file_name, criteria.functions, report)
    loops = loops_in(program, functions, search, block_reader(program.isa), report)
    keys = set(criteria.keys)
    weighted = tuple(_weigh(loop, 1.0, None) for loop in loops if not keys or loop.key in keys)
    return ProgramLoops(
        program.title,
        program.isa,
        search.functions,
        search.code,
        _bound_loops(weighted, file_name),
        search.too_long,
    )


def _functions(program: CompiledProgram, file_name: str, pattern: str, report: OnProgress) -> list[Function]:
    functions = []
    for number, entry in enumerate(program.functions(pattern)):
        functions.append(entry)
        if number % _PROGRESS_INTERVAL == 0:
            report(0, 1)
    if not functions:
        examples = ", ".join(entry.name for entry, _ in zip(program.functions(), range(5), strict=False))
        raise ExchangeError(f"{file_name} has no function {pattern!r}; it has, for example, {examples}")
    return functions


def _sampled_loops(
    program: CompiledProgram, file_name: str, samples: PlacedSamples, criteria: LoopFilter, report: OnProgress
) -> ProgramLoops:
    """The loops of a program, weighed by the samples in them or by the recorded jumps that close them."""
    iterations = criteria.weighing is Weighing.ITERATIONS
    if iterations and not samples.jumps:
        raise ExchangeError(
            "the samples have no branch records: record with `perf record -b` and print with `-F +brstack`"
        )
    places = sorted({*samples.counts, *(begin for begin, _ in samples.jumps)})
    functions = _functions(program, file_name, criteria.functions, report)
    functions = [function for function in functions if _has_any(function, places)]
    search = Search()
    loops = list(loops_in(program, functions, search, block_reader(program.isa), report))
    total = samples.total
    shares = {loop.key: 100 * number / (total or 1) for loop, number in weighted_loops(loops, samples.counts)}
    if iterations:
        pairs = [(loop, float(samples.jumps[loop.closing_address, loop.start])) for loop in loops]
        pairs = sorted((pair for pair in pairs if pair[1]), key=lambda pair: -pair[1])
    else:
        pairs = weighted_loops(loops, samples.counts)
    weighted = (_weigh(loop, round(number, 4), shares.get(loop.key, 0.0)) for loop, number in pairs)
    selection, below = chosen_loops(weighted, criteria)
    return ProgramLoops(
        program.title,
        program.isa,
        search.functions,
        search.code,
        _bound_loops(selection, file_name),
        search.too_long,
        below,
        samples.event,
        round(total, 4),
        round(sum(entry.percent or 0.0 for entry in selection) * total / 100, 4),
        tuple(samples.lost.most_common()),
        tuple(samples.elsewhere.most_common(5)),
    )


def _has_any(function: Function, places: Sequence[int]) -> bool:
    at = bisect_left(places, function.address)
    return at < len(places) and places[at] < function.address + function.size


def _weigh(loop: Loop, weight: float, percent: float | None) -> WeightedLoop:
    return WeightedLoop(
        loop.key,
        loop.function.name,
        loop.start,
        loop.code,
        loop.instructions,
        len(loop.ignored_branches),
        weight,
        percent,
    )


def _bound_loops(loops: tuple[WeightedLoop, ...], file_name: str) -> tuple[WeightedLoop, ...]:
    if len(loops) > ROW_LIMIT:
        raise ExchangeError(
            f"{file_name} has {len(loops):,} loops, of {ROW_LIMIT:,} at most: choose functions by their names"
        )
    return loops


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.4g}"


TITLE = "listing of machine code"
_DROPPED_LISTED = 20  # instructions without a scheme that a file's head names
_LISTING_HEAD = re.compile(
    r"(?m)^\S.{,500}:[ \t]+file format \S+|^[ \t]*Disassembly of section \S{,500}:[ \t]*$"  # objdump, perf
    r"|^Dump of (?:assembler code for function|file) \S|^\(lldb\) "  # gdb, dumpbin
    r"|^[^\s`]{1,200}`[^\n`]{1,500}:[ \t]*$"  # lldb
    r"|^TEXT \S.{,500}\(SB\)|^\S{1,500} STEXT .{,200}\bsize=\d"  # Go
    r"|^Address\t(?:[^\t\n]{,60}\t){,3}Assembly\t"  # VTune
    r"|^\.text:[0-9A-F]{8,16}\s"  # IDA
)


def is_listing(beginning: str) -> bool:
    """Whether a text that begins with `beginning` is a listing of a profiler or a disassembler."""
    return bool(_LISTING_HEAD.search(beginning[:4000])) or is_annotate(beginning)


def find_listed_loops(
    content: bytes,
    file_name: str,
    criteria: LoopFilter,
    report: OnProgress = lambda done, of: None,
    *,
    excerpts: int = 0,
) -> ProgramLoops:
    """The loops of a listing, each with its samples as its weight, or 1 where the listing has none.

    Args:
        content: The listing, in UTF-8; invalid bytes are replaced.
        file_name: Name of the file, for errors.
        criteria: Which loops to return.
        report: Called with what is done and its total.
        excerpts: So many of the loops, the first ones, get their part of the listing.

    Raises:
        ExchangeError: The text cannot be read as a listing.
    """
    if (nul := content.find(0)) >= 0:
        raise ExchangeError(f"{file_name}: a NUL byte in line {content.count(10, 0, nul) + 1}: no text")
    text = content.decode("utf-8-sig", "replace")
    report(0, 1)
    try:
        reading = read(text, ROW_LIMIT)
    except BlockError as error:
        raise ExchangeError(f"{file_name}: {error}") from error
    report(1, 1)
    has_counts = any(piece.count is not None for piece in reading.pieces)
    total = sum(piece.count or 0.0 for piece in reading.pieces)
    loops = [
        _loop(piece, number, total if has_counts else None)
        for number, piece in enumerate(reading.pieces)
        if piece.block.kind == "loop"
        and (not criteria.functions or fnmatchcase(piece.name, criteria.functions))
    ]
    if has_counts:
        loops = sorted((loop for loop in loops if loop.weight), key=lambda loop: -loop.weight)
    selection, below = chosen_loops(loops, criteria)
    if excerpts:
        lines = lines_of(text)
        first = (
            replace(loop, excerpt=_excerpt(reading.pieces[int(loop.key)], lines))
            for loop in selection[:excerpts]
        )
        selection = (*first, *selection[excerpts:])
    return ProgramLoops(
        TITLE,
        reading.pieces[0].block.isa,
        len({piece.name for piece in reading.pieces}),
        sum(len(piece.block.code) for piece in reading.pieces),
        selection,
        0,
        below,
        total=round(total, 4) if has_counts else None,
        inside=round(sum(loop.weight for loop in selection), 4),
        notes=(*_dropped_notes(reading.dropped), *reading.notes),
    )


def _dropped_notes(dropped: Sequence[DroppedLine]) -> Iterator[str]:
    yield from map(str, dropped[:_DROPPED_LISTED])
    if len(dropped) > _DROPPED_LISTED:
        yield f"and {len(dropped) - _DROPPED_LISTED:,} other lines that look like code"


_MAX_EXCERPT_LENGTH = 3000
"""Characters; the address of a page carries them."""


def _excerpt(piece: Piece, lines: Sequence[str]) -> str:
    """The lines of a loop in its listing; "" where the reader makes another loop of them."""
    numbers = [line.line for line in piece.lines]
    excerpt = lines[min(numbers) - 1 : max(numbers)]
    first = piece.lines[0].source
    heads = [] if first is None else [[f"{first.file}:{first.line}"] * bool(first.line) + [first.text]]
    for head in (*heads, []):
        text = "\n".join([*head, *excerpt])
        if len(text) > _MAX_EXCERPT_LENGTH:
            continue
        with suppress(BlockError):
            reading = read(text, _MAX_EXCERPT_LENGTH)
            if not reading.dropped and ranked_pieces(reading)[0].block == piece.block:
                return text
    return ""


def _loop(piece: Piece, number: int, total: float | None) -> WeightedLoop:
    count = 1.0 if total is None else piece.count or 0.0
    return WeightedLoop(
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
    BLOCKS = blocks_csv.TITLE
    PROGRAM = "compiled program"
    LISTING = "listing of machine code"
    SAMPLES = "samples of a profiler"


def block_file_of(content: bytes) -> BlockFileSort | None:
    """The format of a file, given its content or the first `BEGINNING` bytes; None for any other format."""
    beginning = content[:BEGINNING]
    if is_binary(beginning):
        return BlockFileSort.PROGRAM
    text = beginning.decode("utf-8-sig", "replace")
    if is_listing(text):
        return BlockFileSort.LISTING
    if is_script(text):
        return BlockFileSort.SAMPLES
    return BlockFileSort.BLOCKS if is_block_table(beginning) else None
