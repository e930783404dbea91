"""Basic-block sets: blocks with a column of answers per predictor."""

from __future__ import annotations

from typing import BinaryIO

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import RunKind
from inference.runs.lazy import lazy

KINDS = (
    RunKind(
        "columns",
        label="Predictions",
        job=lazy(__name__, "columns_job.ColumnsJob"),
        summary="Predictions for all blocks of a set",
        example={"block_set": 6, "predictors": [2, 5]},
    ),
)

PRESENTATIONS = {
    "columns": lambda: KindPresentation(
        words=lazy(__name__, "asked.columns_words"), outcomes=lazy(__name__, "asked.sets_of")
    )
}

DEPENDENTS = {"inference.BasicBlockSet": lazy(__name__, "query.of_block_set")}


def _write(name: str, file: BinaryIO) -> None:
    from inference.storage.block_sets import write_block_set  # noqa: PLC0415  exports load it

    write_block_set(name, file)


WRITERS = {"block-set": _write}
