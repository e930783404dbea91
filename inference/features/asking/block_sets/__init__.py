"""Basic-block sets: predictors are asked about them, and compared column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inference.runs.kinds import Lane, RunKind

if TYPE_CHECKING:
    from inference.web.dependents import Dependent

KINDS = (
    RunKind(
        "columns",
        label="Predictions",
        job="inference.features.asking.block_sets.columns_job.ColumnsJob",
        summary="Predictions for all blocks of a set",
        example={"block_set": 6, "predictors": [2, 5]},
        words="inference.features.asking.block_sets.asked.columns_words",
        outcomes="inference.features.asking.block_sets.asked.sets_of",
    ),
    RunKind(
        "accuracy",
        label="Accuracy",
        job="inference.features.asking.block_sets.accuracy_job.AccuracyJob",
        summary="How well the columns of a basic-block set agree with one of them",
        example={"block_set": 6, "reference": 8},
        lane=Lane.SHORT,
        words="inference.features.asking.block_sets.asked.accuracy_words",
        outcomes="inference.features.asking.block_sets.asked.sets_of",
    ),
)

OPERATIONS = (("/block-sets", "api"), ("/block-sets", "accuracy_api"), ("/block-sets", "gate_api"))


def _dependents(row: Any) -> list[Dependent]:
    from inference.features.asking.block_sets.query import of_block_set  # noqa: PLC0415  pages load it

    return of_block_set(row)


DEPENDENTS = {"inference.BasicBlockSet": _dependents}
