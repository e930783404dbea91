"""How well the columns of a basic-block set agree with one of them (thesis §5.2, Table 5.4 for blocks).

A column is compared on those blocks for which it and the reference have a number; a reference of 0 cycles has
no relative error, so such blocks are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from inference.core.judging.agreement import weighted_error
from inference.core.judging.sheet import Answers, AnswerSheet
from inference.core.metrics import Scores, score
from inference.core.protocols import Json
from inference.figures.heatmap import HeatMap, heat_map
from inference.models import BasicBlockSet, BlockColumn, Prediction, Run
from inference.storage.block_rows import block_items, cycles_of

KIND = "accuracy"
AT_ONCE = 20_000
"""Answers up to which they are compared when somebody asks; more take a run."""
WORST = 100
"""Blocks listed for each column: those with the largest relative errors."""


@dataclass(frozen=True)
class ColumnAccuracy:
    """A column beside the reference: `scores` of the blocks compared, and their heat map.

    `answered`: blocks for which it has a number, compared or not; `failed`: those for which the tool failed.
    `worst`: places of the blocks with the largest relative errors, the largest first. `weighted`: the MAPE,
    in per cent, in which each block counts by its share of all weights; None where no compared one has any.
    """

    column: int
    name: str
    answered: int
    failed: int
    scores: Scores
    heat_map: HeatMap
    worst: tuple[int, ...]
    weighted: float | None = None

    def as_json(self) -> Json:
        """Plain data; `from_json` reads it back."""
        own = {name: getattr(self, name) for name in ("column", "name", "answered", "failed")}
        return {
            **own,
            "scores": self.scores.as_json(),
            "heat_map": self.heat_map.as_json(),
            "worst": list(self.worst),
            "weighted": self.weighted,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            data["column"],
            data["name"],
            data["answered"],
            data["failed"],
            Scores(**data["scores"]),
            HeatMap.from_json(data["heat_map"]),
            tuple(data["worst"]),
            data.get("weighted"),  # runs of earlier versions have none
        )


@dataclass(frozen=True)
class Accuracy:
    """All columns beside `reference`, the id of one, which has a number above 0 for `numbers` of `blocks`.

    `zeros`: the blocks for which it says 0 cycles.
    """

    reference: int
    blocks: int
    numbers: int
    zeros: int
    columns: tuple[ColumnAccuracy, ...]

    def as_json(self) -> Json:
        """Plain data; `from_json` reads it back."""
        own = {name: getattr(self, name) for name in ("reference", "blocks", "numbers", "zeros")}
        return {**own, "columns": [column.as_json() for column in self.columns]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        columns = tuple(ColumnAccuracy.from_json(column) for column in data["columns"])
        return cls(data["reference"], data["blocks"], data["numbers"], data["zeros"], columns)


@dataclass(frozen=True)
class KnownAccuracy:
    """What is known of a comparison.

    `accuracy` with the `run` that found it (None: just now), and whether it `lacks` a column; the run that is
    `working` on one, or the newest where that has `failed`.
    """

    accuracy: Accuracy | None = None
    run: Run | None = None
    working: Run | None = None
    failed: Run | None = None
    lacks: bool = False


def accuracy_of(
    block_set: BasicBlockSet, reference: BlockColumn, told: Callable[[int, int], None] = lambda done, of: None
) -> Accuracy:
    """Compare all columns of a set with one; `told` hears how many are done, of how many, and may raise."""
    columns = list(block_set.columns.order_by("position"))
    failed = _failures(columns)
    items, seen = block_items(block_set), cycles_of(reference, block_set.size)
    compared = []
    for done, column in enumerate(columns):
        told(done, len(columns))
        if column.pk != reference.pk:
            answers = Answers.of(cycles_of(column, block_set.size), "")
            compared.append(_beside(column, AnswerSheet(items, seen, [answers]), failed.get(column.pk, 0)))
    return Accuracy(
        reference.pk, block_set.size, int((seen > 0).sum()), int((seen == 0).sum()), tuple(compared)
    )


def _beside(column: BlockColumn, sheet: AnswerSheet, failed: int) -> ColumnAccuracy:
    points, weights = sheet.compare(0), sheet.items.weights
    return ColumnAccuracy(
        column.pk,
        column.name,
        int((~np.isnan(sheet.columns[0].cycles)).sum()),
        failed,
        score(points.reference, points.predicted),
        heat_map(points.reference, points.predicted),
        tuple(points.worst(WORST).at.tolist()),
        None if weights is None else weighted_error(points, weights),
    )


def accuracy_known(
    block_set: BasicBlockSet, columns: Sequence[BlockColumn], reference: BlockColumn
) -> KnownAccuracy:
    """What can be shown at once: the comparison itself of a small set, what a run found of a large one."""
    if block_set.size * len(columns) <= AT_ONCE:
        return KnownAccuracy(accuracy_of(block_set, reference))
    runs = Run.objects.filter(kind=KIND, config__reference=reference.pk).order_by("-pk")
    newest = runs.defer("result").first()
    done = runs.filter(state=Run.State.DONE).first()
    working = newest if newest is not None and newest.state not in Run.FINAL else None
    failed = newest if newest is not None and newest.state == Run.State.FAILED else None
    if done is None:
        return KnownAccuracy(working=working, failed=failed)
    found = Accuracy.from_json(done.result["accuracy"])
    there = {column.pk: column.name for column in columns}
    kept = [column for column in found.columns if column.column in there]
    shown = Accuracy(found.reference, found.blocks, found.numbers, found.zeros, tuple(kept))
    return KnownAccuracy(shown, done, working, failed, lacks=len(kept) + 1 < len(columns))


def _failures(columns: Sequence[BlockColumn]) -> dict[int, int]:
    """{column: how often its tool failed}, through the index over numbers."""
    return {
        column.pk: Prediction.objects.filter(column=column, cycles__isnull=True).count() for column in columns
    }
