"""What predictors make of memory dependencies, as Table 8.4 of the thesis shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anica_app.core.memory_variants import Memory
from anica_app.exchange.asked_answers import Said
from anica_app.models import Predictor
from anica_app.queries.block_answers import Line, lines_of
from anica_app.views.discoveries.step import lines_of as instructions_of
from inference.models import Run

ALIKE = 0.1
"""Numbers within this relative distance are called the same in words."""


@dataclass(frozen=True)
class MemoryRow:
    """A predictor with what it says of each variant, and what that means."""

    line: Line
    cells: list[tuple[Memory, Line]]
    reading: str


@dataclass(frozen=True)
class MemoryTable:
    """The answers to a question about variants; `variants`: of each, how it differs and its instructions."""

    run: Run
    variants: list[tuple[Memory, tuple[str, ...]]]
    rows: list[MemoryRow]
    ended: bool


def memory_table(
    run: Run, predictors: Mapping[int, Predictor | None], said: Mapping[int, Said]
) -> MemoryTable:
    """The table of a run that `campaigning.memory` has described: its blocks are in the order of `Memory`."""
    codes = [bytes.fromhex(text) for text in run.config["blocks"]]
    columns = [lines_of(predictors, said, code) for code in codes]
    rows = [
        MemoryRow(cells[0], list(zip(Memory, cells, strict=True)), reading(cells))
        for cells in zip(*columns, strict=True)
    ]
    variants = [(kind, instructions_of(code)) for kind, code in zip(Memory, codes, strict=True)]
    return MemoryTable(run, variants, rows, run.state in Run.FINAL)


def reading(cells: tuple[Line, ...]) -> str:
    """What a predictor's numbers for same address, other offset and other base say in words."""
    cycles = [cell.cycles for cell in cells]
    if any(one is None for one in cycles):
        return ""
    same, offset, base = (one or 0.0 for one in cycles)
    if _alike(same, offset) and _alike(same, base):
        return "makes no difference between them"
    if _alike(offset, base) and same > base:
        return "waits where the address is the same"
    if _alike(same, offset) and same > base:
        return "waits unless the base is another"
    if _alike(same, base) and same > offset:
        return "waits unless the offset tells that it is another place"
    return "each is another case"


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= ALIKE * max(one, other)
