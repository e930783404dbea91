"""A basic block as pages show it: instructions with their schemes, what is predicted, what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.core.protocols import Json
from inference.isa.x86.blocks import Block
from inference.measuring.closing import iteration_of
from inference.models import ISA
from inference.queries.blocks import BlockPrediction, predictions_of, scheme_rows


@dataclass(frozen=True)
class Row:
    """One instruction; `scheme_row` is None for a scheme that the site does not have."""

    hex: str
    text: str
    scheme: str | None
    scheme_row: int | None
    obstacle: str


@dataclass(frozen=True)
class Shown:
    """A block; `result` is what a run says of it, {} while it has not come. `number` counts from 1."""

    number: int
    block: Block
    rows: tuple[Row, ...]
    predictions: Sequence[tuple[BlockPrediction, float | None]]
    """each with its difference from the measurement in per cent"""
    obstacle: str
    result: Json
    closed: str
    """how machines close a loop, "" of a straight block"""


def shown(
    blocks: Sequence[Block], isa: ISA | None, results: Mapping[int, Json] | None = None, first: int = 1
) -> list[Shown]:
    """Blocks numbered from `first`; `results` by these numbers."""
    known = {} if isa is None else scheme_rows(blocks, isa)
    predicted = [[] for _ in blocks] if isa is None else predictions_of(blocks, isa, known)
    found = []
    for number, (block, predictions) in enumerate(zip(blocks, predicted, strict=True), start=first):
        result = (results or {}).get(number, {})
        compared = [(each, _change(each.cycles, result)) for each in predictions]
        found.append(
            Shown(
                number,
                block,
                rows_of(block, known),
                compared,
                block.obstacle(),
                result,
                iteration_of(block).words,
            )
        )
    return found


def rows_of(block: Block, known: Mapping[str, int]) -> tuple[Row, ...]:
    """The instructions, the jump that closes a loop last; `known`: {text of a scheme: its row id}."""
    rows = [
        Row(one.code.hex(), one.text, one.scheme, known.get(one.scheme or ""), one.obstacle)
        for one in block.instructions
    ]
    if block.closing is not None:
        rows.append(
            Row(block.closing.code.hex(), block.closing_text, None, None, "leads back to the beginning")
        )
    return tuple(rows)


def _change(predicted: float, result: Json) -> float | None:
    """Prediction against measurement in per cent of the measurement, where that has settled."""
    measured = result.get("cycles")
    if result.get("state") != "settled" or not measured:
        return None
    return 100 * (predicted - float(measured)) / float(measured)
