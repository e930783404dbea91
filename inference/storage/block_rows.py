"""Blocks and answers of basic-block sets as rows, and the numbers of a column as an array.

Rows are written in plain SQL: instances of models would take longer than all else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.judging.sheet import ItemKind, Items
from inference.core.tables import ExperimentTable, Floats
from inference.models import BasicBlock, BasicBlockSet, BlockColumn, Prediction
from inference.models.block_set import searchable
from inference.predictors.protocol import Answer
from inference.storage.inserting import insert_rows

ROWS = 2000
"""Written or read at a time."""


@dataclass(frozen=True, slots=True)
class BlockToStore:
    """A block for a set; `mnemonics`: one per instruction, the others as `BasicBlock` has them."""

    code: bytes
    mnemonics: Sequence[str]
    text: str = ""
    weight: float | None = None
    origin: str = ""


def insert_blocks(block_set: BasicBlockSet, blocks: Iterable[BlockToStore], first: int = 0) -> None:
    """Store blocks in the places from `first` on."""
    insert_rows(
        BasicBlock,
        ("block_set_id", "position", "code", "text", "weight", "length", "mnemonics", "origin"),
        (
            (
                *(block_set.pk, at, one.code, one.text, one.weight),
                *(len(one.mnemonics), searchable(one.mnemonics), one.origin),
            )
            for at, one in enumerate(blocks, start=first)
        ),
    )


def insert_answers(answers: Iterable[tuple[int, int, Answer]]) -> None:
    """Store answers: (id of the column, id of the block, what the tool says) each."""
    insert_rows(
        Prediction,
        ("column_id", "block_id", "cycles", "failure"),
        (
            (column, block, one.cycles, one.failure.value if one.failure else "")
            for column, block, one in answers
        ),
    )


def cycles_of(column: BlockColumn, size: int) -> Floats:
    """float64[size]: what the column says of each block of its set, in order; not a number where nothing."""
    found = np.full(size, np.nan)
    rows = Prediction.objects.filter(column=column, cycles__isnull=False)
    for position, cycles in rows.values_list("block__position", "cycles").iterator(ROWS):
        found[position] = cycles
    return found


def block_items(block_set: BasicBlockSet, read_table: Callable[[], ExperimentTable] | None = None) -> Items:
    """The blocks of a set, in order: a block without a weight counts 0 where others have one."""
    rows = block_set.blocks.order_by("position").values_list("pk", "length", "weight")
    table = np.array(list(rows.iterator(ROWS)), dtype=np.float64).reshape(-1, 3)
    ids, lengths = (table[:, column].astype(np.int64) for column in (0, 1))
    weights = np.nan_to_num(table[:, 2])
    return Items(ItemKind.BLOCKS, ids, lengths, weights if weights.any() else None, read_table=read_table)
