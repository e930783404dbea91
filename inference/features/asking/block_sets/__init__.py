"""Basic-block sets: lists of blocks with a column of answers per predictor."""

from __future__ import annotations

from typing import BinaryIO

from inference.runs.kinds import RunKind

KINDS = (
    RunKind(
        "columns",
        label="Predictions",
        summary="Predictions for all blocks of a set",
        example={"block_set": 6, "predictors": [2, 5]},
    ),
)


def _write(name: str, file: BinaryIO) -> None:
    from inference.storage.block_sets import write_block_set  # noqa: PLC0415  exports load it

    write_block_set(name, file)


WRITERS = {"block-set": _write}
