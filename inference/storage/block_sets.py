"""Stores files and loops of programs as basic-block sets, all or nothing, and exports a set as CSV."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np
from django.db import transaction

from inference.core.judging.sheet import ItemKind, Items
from inference.core.tables import ExperimentTable, Floats
from inference.formats.block_files import ProgramLoops
from inference.formats.block_sets import (
    CHUNK,
    BlockChunk,
    BlockLine,
    BlockSetOptions,
    BlockSetSummary,
    OnProgress,
    read_chunks,
    write_block_set_csv,
)
from inference.formats.blocks_csv import Scale
from inference.isa.blocks import BlockError, block_of_bytes, mnemonics_of
from inference.isa.targets import DEFAULT
from inference.models import ISA, BasicBlock, BasicBlockSet, BlockColumn, Prediction, Run
from inference.models.block_set import mnemonics_text
from inference.predictors.protocol import Answer
from inference.storage.errors import RefusedError
from inference.storage.instruction_sets import code_isa
from inference.storage.names import by_name, check_name_free
from inference.storage.rows import insert_rows

BATCH_ROWS = 2000
"""Rows written or read at a time."""


@dataclass(frozen=True, slots=True)
class BlockToStore:
    """A block to be stored. `mnemonics`: one per instruction; other fields as in `BasicBlock`."""

    code: bytes
    mnemonics: Sequence[str]
    text: str = ""
    weight: float | None = None
    origin: str = ""


def insert_blocks(block_set: BasicBlockSet, blocks: Iterable[BlockToStore], first: int = 0) -> None:
    """Store blocks at positions from `first` on."""
    insert_rows(
        BasicBlock,
        ("block_set_id", "position", "code", "text", "weight", "length", "mnemonics", "origin"),
        (
            (
                *(block_set.pk, at, block.code, block.text, block.weight),
                *(len(block.mnemonics), mnemonics_text(block.mnemonics), block.origin),
            )
            for at, block in enumerate(blocks, start=first)
        ),
    )


def insert_answers(answers: Iterable[tuple[int, int, Answer]]) -> None:
    """Store answers, (id of the column, id of the block, answer) each."""
    insert_rows(
        Prediction,
        ("column_id", "block_id", "cycles", "failure"),
        (
            (column, block, answer.cycles, answer.failure.value if answer.failure else "")
            for column, block, answer in answers
        ),
    )


def cycles_of(column: BlockColumn, size: int) -> Floats:
    """float64[size]: the column's cycles for each block of its set, NaN where there is no number."""
    values = np.full(size, np.nan)
    rows = Prediction.objects.filter(column=column, cycles__isnull=False)
    for position, cycles in rows.values_list("block__position", "cycles").iterator(BATCH_ROWS):
        values[position] = cycles
    return values


def block_items(block_set: BasicBlockSet, read_table: Callable[[], ExperimentTable] | None = None) -> Items:
    """The blocks of a set, in order. Where some have weights, blocks without one weigh 0."""
    rows = block_set.blocks.order_by("position").values_list("pk", "length", "weight")
    table = np.array(list(rows.iterator(BATCH_ROWS)), dtype=np.float64).reshape(-1, 3)
    ids, lengths = (table[:, column].astype(np.int64) for column in (0, 1))
    weights = np.nan_to_num(table[:, 2])
    return Items(ItemKind.BLOCKS, ids, lengths, weights if weights.any() else None, read_table=read_table)


def scheme_texts(name: str) -> list[str]:
    """The schemes that occur in the blocks of the set of this name. Raises `LookupError`."""
    row = BasicBlockSet.objects.select_related("isa").filter(name=name).first()
    if row is None:
        raise LookupError(f"there is no block set {name!r}")
    isa = DEFAULT if row.isa is None else row.isa.name
    texts: dict[str, None] = {}
    for code in row.blocks.values_list("code", flat=True).iterator(chunk_size=1000):
        with contextlib.suppress(BlockError):
            texts |= dict.fromkeys(text for text, _ in block_of_bytes(bytes(code), isa).terms)
    return sorted(texts)


@transaction.atomic
def store(
    file: BinaryIO,
    file_name: str,
    name: str,
    options: BlockSetOptions,
    *,
    note: str = "",
    run: Run | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[BasicBlockSet, BlockSetSummary]:
    """Store a file as a set, all or nothing.

    Args:
        file: CSV, at its beginning.
        file_name: Name of the file, for messages and the set's source.
        name: Name of the set.
        options: How to read the file.
        note: Note of the set.
        run: The run that imports it.
        on_progress: Called after each chunk with the number of rows read.

    Raises:
        NameInUseError: Another set has the name.
        RefusedError: The file has no rows, or broken rows that are not skipped.
    """
    check_name_free(BasicBlockSet, name)
    summary, chunks = read_chunks(file, file_name, options)
    block_set = BasicBlockSet.objects.create(
        name=name,
        note=note,
        isa=_row_of(summary.isa),
        run=run,
        source=f"{PurePath(file_name).name}, {summary.title}"[:300],
    )
    names = [column.name for column in summary.columns if column.scale is not Scale.WEIGHT]
    columns = [
        BlockColumn.objects.create(block_set=block_set, position=position, name=column)
        for position, column in enumerate(names)
    ]
    position = 0
    for chunk in chunks:
        _insert(block_set, columns, position, chunk)
        position += len(chunk.rows)
        if on_progress is not None:
            on_progress(summary.rows + summary.left_out)
    if not summary.acceptable:
        raise RefusedError("\n".join(["nothing was imported", *(summary.lines() or ["the file has no row"])]))
    block_set.size = summary.rows
    block_set.report = summary.report()
    block_set.save(update_fields=["size", "report"])
    return block_set, summary


def _row_of(isa: str) -> ISA | None:
    """The row of an instruction set, None for `DEFAULT` without a row. Raises `RefusedError` for others."""
    row = ISA.objects.filter(name=isa).first()
    if row is None and code_isa(row) != isa:
        raise RefusedError(f"the instruction set {isa} is not loaded: run `manage.py load-isa`")
    return row


def _insert(
    block_set: BasicBlockSet, columns: Sequence[BlockColumn], position: int, chunk: BlockChunk
) -> None:
    insert_blocks(
        block_set,
        (
            BlockToStore(row.code, row.mnemonics, row.text, weight, row.origin)
            for row, weight in zip(chunk.rows, chunk.weights, strict=True)
        ),
        position,
    )
    if not columns:
        return
    places = (position, position + len(chunk.rows) - 1)
    ids = block_set.blocks.filter(position__range=places).order_by("position").values_list("pk", flat=True)
    insert_answers(
        (column.pk, pk, answer)
        for pk, answers in zip(ids, chunk.answers, strict=True)
        for column, answer in zip(columns, answers, strict=True)
        if answer is not None
    )


@transaction.atomic
def store_loops(
    program_loops: ProgramLoops,
    file_name: str,
    name: str,
    *,
    note: str = "",
    run: Run | None = None,
) -> BasicBlockSet:
    """Store the loops of a program as a block set.

    Args:
        program_loops: Program loops with their weights.
        file_name: File name of the program, for the origin of each block.
        name: Name of the new set.
        note: Note of the user.
        run: Run that found the loops, None for an upload.

    Raises:
        NameInUseError: Another set has the name.
        RefusedError: There are no loops.
    """
    isa = program_loops.isa
    rows = (
        BlockToStore(
            loop.code, mnemonics_of(loop.code, isa), weight=loop.weight, origin=loop.origin(file_name)
        )
        for loop in program_loops.loops
    )
    source = f"{PurePath(file_name).name}, {program_loops.kind}"
    report = {"loops": program_loops.lines()}
    return store_blocks(rows, report, source, name, note=note, isa=_row_of(isa), run=run)


@transaction.atomic
def store_blocks(
    blocks: Iterable[BlockToStore],
    report: dict[str, Any],
    source: str,
    name: str,
    *,
    note: str = "",
    isa: ISA | None = None,
    run: Run | None = None,
) -> BasicBlockSet:
    """Store weighted blocks as a set.

    Args:
        blocks: The blocks.
        report: Added to the set's report; `loops` in it explains why there are none.
        source: Where the blocks are from, in words.
        name: Name of the set.
        note: Note of the user.
        isa: Instruction set of the blocks, None for the default one.
        run: Run that found them, None for an upload.

    Raises:
        NameInUseError: Another set has the name.
        RefusedError: There are no blocks.
    """
    check_name_free(BasicBlockSet, name)
    stored = list(blocks)
    if not stored:
        raise RefusedError("\n".join(["nothing was imported: there is no loop", *report.get("loops", ())]))
    block_set = BasicBlockSet.objects.create(
        name=name, note=note, isa=isa, run=run, source=source[:300], size=len(stored)
    )
    insert_blocks(block_set, stored)
    block_set.report = {
        "left_out": 0,
        "problems": [],
        "problem_count": 0,
        "duplicates": len(stored) - len({row.code for row in stored}),
        "duplicate_lines": [],
        "instructions": sum(len(row.mnemonics) for row in stored),
        "scales": {"weight": "weight"},
        "doubts": [],
        "doubt_counts": {},
        **report,
    }
    block_set.save(update_fields=["report"])
    return block_set


def export(block_set: BasicBlockSet) -> Iterator[str]:
    """The set as pieces of CSV text; see `write_block_set_csv`."""
    columns = list(block_set.columns.order_by("position").values_list("pk", "name"))
    return write_block_set_csv(
        {
            "basic-block set": block_set.name,
            "instruction set": code_isa(block_set.isa),
            "source": block_set.source,
            "note": block_set.note,
        },
        [name for _, name in columns],
        _parts(block_set, [pk for pk, _ in columns]),
        weights=block_set.blocks.filter(weight__isnull=False).exists(),
        origins=block_set.blocks.exclude(origin="").exists(),
    )


def _parts(block_set: BasicBlockSet, columns: Sequence[int]) -> Iterator[list[BlockLine]]:
    """The blocks with the answers of the columns, in order, `CHUNK` at a time."""
    places = {pk: at for at, pk in enumerate(columns)}
    for start in range(0, block_set.size, CHUNK):
        positions = (start, start + CHUNK - 1)
        rows = block_set.blocks.filter(position__range=positions).order_by("position")
        answers_by_block: dict[int, dict[int, float | None]] = {}
        answers = Prediction.objects.filter(block__block_set=block_set, block__position__range=positions)
        for pk, column, cycles in answers.values_list("block_id", "column_id", "cycles"):
            answers_by_block.setdefault(pk, {})[places[column]] = cycles
        yield [
            BlockLine(bytes(row.code), row.weight, row.origin, answers_by_block.get(row.pk, {}))
            for row in rows.only("code", "weight", "origin")
        ]


def write_block_set(name: str, file: BinaryIO) -> None:
    """The basic-block set of this name as CSV. Raises `UnknownNameError`."""
    for piece in export(by_name(BasicBlockSet, name)):
        file.write(piece.encode())
