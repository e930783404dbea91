"""Basic-block sets: lists of blocks with a column of answers per predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, RunKind

if TYPE_CHECKING:
    from inference.web.contributions import Dependent


def _columns_job() -> Job:
    from inference.features.asking.block_sets.columns import ColumnsJob  # noqa: PLC0415  runs load it

    return ColumnsJob()


def _columns_presentation() -> KindPresentation:
    from inference.features.asking.block_sets.query import columns_description, outcomes_of  # noqa: PLC0415  pages load it

    return KindPresentation(words=columns_description, outcomes=outcomes_of)


KINDS = (
    RunKind(
        "columns",
        label="Predictions",
        job=_columns_job,
        summary="Predictions for all blocks of a set",
        example={"block_set": 6, "predictors": [2, 5]},
    ),
)

PRESENTATIONS = {"columns": _columns_presentation}


def _dependents(row: Any) -> list[Dependent]:
    from inference.features.asking.block_sets.query import dependents_of_set  # noqa: PLC0415  pages load it

    return dependents_of_set(row)


DEPENDENTS = {"inference.BasicBlockSet": _dependents}


def _write(name: str, file: BinaryIO) -> None:
    from inference.storage.block_sets import write_block_set  # noqa: PLC0415  exports load it

    write_block_set(name, file)


WRITERS = {"block-set": _write}
