"""Basic-block sets: lists of blocks with a column of answers per predictor."""

from __future__ import annotations

from typing import BinaryIO

from inference.runs.kinds import Job, RunKind


def _columns_job() -> Job:
    from inference.features.asking.block_sets.columns import ColumnsJob  # noqa: PLC0415  runs load it

    return ColumnsJob()


KINDS = (
    RunKind(
        "columns",
        label="Predictions",
        job=_columns_job,
        summary="Predictions for all blocks of a set",
        example={"block_set": 6, "predictors": [2, 5]},
    ),
)


def _write(name: str, file: BinaryIO) -> None:
    from inference.storage.block_sets import write_block_set  # noqa: PLC0415  exports load it

    write_block_set(name, file)


WRITERS = {"block-set": _write}
