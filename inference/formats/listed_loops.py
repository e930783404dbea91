"""Loops of a listing: what `perf annotate` or a disassembler printed, read like code that somebody pastes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from inference.formats.blocks_csv import ROW_LIMIT
from inference.formats.errors import ExchangeError
from inference.formats.perf_texts import is_annotate
from inference.formats.program_loops import FoundLoop, LoopFilter, ProgramLoops, chosen_loops
from inference.isa.blocks import BlockError, DroppedLine, Piece, read

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
