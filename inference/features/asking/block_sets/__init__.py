"""Basic-block sets: predictors are asked about them, and compared column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind

if TYPE_CHECKING:
    from inference.web.dependents import Dependent


def _columns_job() -> Job:
    from inference.features.asking.block_sets.columns_job import ColumnsJob  # noqa: PLC0415  runs load it

    return ColumnsJob()


def _columns_presentation() -> KindPresentation:
    from inference.features.asking.block_sets.asked import columns_words, sets_of  # noqa: PLC0415  pages load it

    return KindPresentation(words=columns_words, outcomes=sets_of)


def _accuracy_job() -> Job:
    from inference.features.asking.block_sets.accuracy_job import AccuracyJob  # noqa: PLC0415  runs load it

    return AccuracyJob()


def _accuracy_presentation() -> KindPresentation:
    from inference.features.asking.block_sets.asked import accuracy_words, sets_of  # noqa: PLC0415  pages load it

    return KindPresentation(words=accuracy_words, outcomes=sets_of)


KINDS = (
    RunKind(
        "columns",
        label="Predictions",
        job=_columns_job,
        summary="Predictions for all blocks of a set",
        example={"block_set": 6, "predictors": [2, 5]},
    ),
    RunKind(
        "accuracy",
        label="Accuracy",
        job=_accuracy_job,
        summary="How well the columns of a basic-block set agree with one of them",
        example={"block_set": 6, "reference": 8},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {"columns": _columns_presentation, "accuracy": _accuracy_presentation}


def _dependents(row: Any) -> list[Dependent]:
    from inference.features.asking.block_sets.query import of_block_set  # noqa: PLC0415  pages load it

    return of_block_set(row)


DEPENDENTS = {"inference.BasicBlockSet": _dependents}


def _write(name: str, file: BinaryIO) -> None:
    from inference.storage.block_sets import write_block_set  # noqa: PLC0415  exports load it

    write_block_set(name, file)


WRITERS = {"block-set": _write}
