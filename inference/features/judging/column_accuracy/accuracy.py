"""How well the columns of a basic-block set agree with one of them (thesis §5.2, Table 5.4 for blocks).

Of a small set, they are compared when somebody asks; of a large one, by a run, as any comparison. Either way
it is told as plain data, which is what runs of earlier versions have stored as well. A column is compared on
those blocks for which it and the reference have a number; a reference of 0 cycles has no relative error, so
such blocks are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.judging.agreement import agreement
from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import codes_of
from inference.features.judging.engine.gate import columns_named
from inference.features.judging.engine.item_answers import NOTHING_THERE, column_answers
from inference.figures.heatmap import heat_map
from inference.formats.accuracy_baseline import AccuracyBaseline, BaselineColumn, digest_of_blocks
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.storage.block_rows import block_items, cycles_of
from inference.storage.instruction_sets import code_isa

KIND = "accuracy"
AT_ONCE = 20_000
"""Answers up to which they are compared when somebody asks; more take a run."""
WORST = 100
"""Blocks listed for each column: those with the largest relative errors."""


@dataclass(frozen=True)
class KnownAccuracy:
    """What is known of a comparison.

    `accuracy` as `accuracy_of` has it, and whether it `lacks` a column; the newest `run` that is done, whose
    comparison has all views; the run that is `working` on one, or the newest where that has `failed`.
    """

    accuracy: Json | None = None
    run: Run | None = None
    working: Run | None = None
    failed: Run | None = None
    lacks: bool = False


def accuracy_of(block_set: BasicBlockSet, reference: BlockColumn) -> Json:
    """All columns of a set beside one.

    Blocks in all, with a `numbers` above 0 and with `zeros` for the reference. Of each column, on the blocks
    compared: `scores`, `heat_map`, `worst` (places of the blocks with the largest relative errors) and
    `weighted` (the MAPE in which each block counts by its weight); blocks that it `answered` and `failed`.
    """
    columns = list(block_set.columns.exclude(pk=reference.pk).order_by("position"))
    answers = [column_answers(column, block_set.size) for column in columns]
    sheet = AnswerSheet(block_items(block_set), cycles_of(reference, block_set.size), answers)
    return accuracy_of_sheet(sheet, reference.pk, [(column.pk, column.name) for column in columns])


def accuracy_of_sheet(sheet: AnswerSheet, reference: int, columns: Sequence[tuple[int, str]]) -> Json:
    """As `accuracy_of`; ids and names of the columns, in the order of the sheet."""
    return {
        "reference": reference,
        "blocks": len(sheet.items),
        "numbers": int((sheet.reference > 0).sum()),
        "zeros": int((sheet.reference == 0).sum()),
        "columns": [
            {"column": pk, "name": name, **_beside(sheet, position)}
            for position, (pk, name) in enumerate(columns)
        ],
    }


def _beside(sheet: AnswerSheet, position: int) -> Json:
    points, answers = sheet.compare(position), sheet.columns[position]
    agreed = agreement(points, sheet.items.weights)
    return {
        "answered": int((answers.reasons == 0).sum()),
        "failed": sum(count for reason, count in answers.lacking() if reason != NOTHING_THERE),
        "scores": agreed.scores.as_json(),
        "heat_map": heat_map(points.reference, points.predicted).as_json(),
        "worst": points.worst(WORST).at.tolist(),
        "weighted": agreed.weighted,
    }


def accuracy_known(
    block_set: BasicBlockSet, columns: Sequence[BlockColumn], reference: BlockColumn
) -> KnownAccuracy:
    """What can be shown at once: the comparison itself of a small set, what a run found of a large one."""
    runs = Run.objects.filter(kind=KIND, config__reference=reference.pk).order_by("-pk")
    newest = runs.defer("result").first()
    done = runs.filter(state=Run.State.DONE).first()
    if block_set.size * len(columns) <= AT_ONCE:
        accuracy: Json | None = accuracy_of(block_set, reference)
    else:
        accuracy = None if done is None else done.result.get("accuracy")
    there = {column.pk for column in columns}
    if accuracy is not None:
        accuracy["columns"] = [column for column in accuracy["columns"] if column["column"] in there]
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
    """The scores of a set's columns, or of those named. Raises `ExchangeError` for names there are not."""
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
        columns=columns_named(columns, repr(row.name), only),
    )
