"""The accuracy of a basic-block set's columns against one of them (thesis §5.2, Table 5.4 for blocks).

A small set is compared when it is viewed, a large one by a run. Both yield the JSON that runs of earlier
versions have stored. A column is compared on the blocks for which it and the reference have a number; a
reference of 0 cycles has no relative error, so such blocks are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.judging.agreement import agreement
from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import codes_of
from inference.features.judging.engine.gate import select_columns
from inference.features.judging.engine.item_answers import NO_COLUMN_ANSWER, answers_of_columns
from inference.figures.heatmap import heat_map
from inference.formats.accuracy_baseline import AccuracyBaseline, BaselineColumn, digest_of_blocks
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.storage.block_sets import block_items, cycles_of
from inference.storage.instruction_sets import code_isa

KIND = "accuracy"
MAX_WITHOUT_RUN = 20_000
"""Answers up to which columns are compared when they are viewed; more need a run."""
MAX_WORST = 100
"""Blocks listed per column: those with the largest relative errors."""


@dataclass(frozen=True)
class KnownAccuracy:
    """The stored or computed results of a comparison.

    Attributes:
        accuracy: The result of `accuracy_of`.
        lacks: Whether it lacks a column.
        run: The newest finished run, whose comparison has all views.
        working: The newest run if it is unfinished.
        failed: If it has failed.
    """

    accuracy: Json | None = None
    run: Run | None = None
    working: Run | None = None
    failed: Run | None = None
    lacks: bool = False


def accuracy_of(block_set: BasicBlockSet, reference: BlockColumn) -> Json:
    """Compare all columns of a set with one of them.

    Returns the number of `blocks`, of those with a reference above 0 (`numbers`) and of 0 (`zeros`), and per
    column `scores`, `heat_map`, `worst` (places of the blocks with the largest relative errors), `weighted`
    (MAPE weighted by the blocks' weights), and the numbers of blocks that it `answered` and `failed`.
    """
    columns = list(block_set.columns.exclude(pk=reference.pk).order_by("position"))
    answers = answers_of_columns(columns, block_set.size)
    sheet = AnswerSheet(block_items(block_set), cycles_of(reference, block_set.size), answers)
    return accuracy_of_sheet(sheet, reference.pk, [(column.pk, column.name) for column in columns])


def accuracy_of_sheet(sheet: AnswerSheet, reference: int, columns: Sequence[tuple[int, str]]) -> Json:
    """As `accuracy_of`; `columns`: (id, name) in the order of the sheet."""
    return {
        "reference": reference,
        "blocks": len(sheet.items),
        "numbers": int((sheet.reference > 0).sum()),
        "zeros": int((sheet.reference == 0).sum()),
        "columns": [
            {"column": pk, "name": name, **_column_json(sheet, position)}
            for position, (pk, name) in enumerate(columns)
        ],
    }


def _column_json(sheet: AnswerSheet, position: int) -> Json:
    points, answers = sheet.compare(position), sheet.columns[position]
    agreed = agreement(points, sheet.items.weights)
    return {
        "answered": int((answers.reasons == 0).sum()),
        "failed": sum(count for reason, count in answers.lacking() if reason != NO_COLUMN_ANSWER),
        "scores": agreed.scores.as_json(),
        "heat_map": heat_map(points.reference, points.predicted).as_json(),
        "worst": points.worst(MAX_WORST).at.tolist(),
        "weighted": agreed.weighted,
    }


def known_accuracy(
    block_set: BasicBlockSet, columns: Sequence[BlockColumn], reference: BlockColumn
) -> KnownAccuracy:
    """The result that can be shown now: computed for a small set, that of the newest run for a large one."""
    runs = Run.objects.filter(kind=KIND, config__reference=reference.pk).order_by("-pk")
    newest = runs.defer("result").first()
    done = runs.filter(state=Run.State.DONE).first()
    if block_set.size * len(columns) <= MAX_WITHOUT_RUN:
        accuracy: Json | None = accuracy_of(block_set, reference)
    else:
        accuracy = None if done is None else done.result.get("accuracy")
    column_ids = {column.pk for column in columns}
    if accuracy is not None:
        accuracy["columns"] = [column for column in accuracy["columns"] if column["column"] in column_ids]
    return KnownAccuracy(
        accuracy,
        done,
        newest if newest is not None and newest.state not in Run.FINAL else None,
        newest if newest is not None and newest.state == Run.State.FAILED else None,
        accuracy is not None and len(accuracy["columns"]) + 1 < len(columns),
    )


def baseline_of(
    row: BasicBlockSet, reference: BlockColumn, accuracy: Json, only: Sequence[str] = ()
) -> AccuracyBaseline:
    """The baseline of a set's columns, or of those in `only`. Raises `ExchangeError` for an unknown name."""
    columns = [
        BaselineColumn(
            name=column["name"],
            answered=column["answered"],
            mape=column["scores"]["mape"],
            kendall=column["scores"]["kendall"],
        )
        for column in accuracy["columns"]
    ]
    return AccuracyBaseline(
        set=row.name,
        blocks=row.size,
        digest=digest_of_blocks(codes_of(row), code_isa(row.isa)),
        reference=reference.name,
        numbers=accuracy["numbers"],
        columns=select_columns(columns, repr(row.name), only),
    )
