"""Families: discoveries of a campaign grouped by their cause, with their pages, API and commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.runs.kinds import Job, RunKind

if TYPE_CHECKING:
    from inference.models import Predictor
    from inference.web.contributions import BlockNote


def _job() -> Job:
    from anica_app.features.families.job import FamiliesJob  # noqa: PLC0415  runs load it

    return FamiliesJob()


KINDS = (
    RunKind(
        "families",
        label="Families",
        job=_job,
        summary="Group the discoveries of a campaign by their cause",
        example={"campaign": 4, "evaluate": 2000},
    ),
)


def _notes_on_block(isa: str, code: bytes, predictors: Sequence[Predictor]) -> Sequence[BlockNote]:
    from anica_app.features.families.block_notes import notes_on_block  # noqa: PLC0415  pages load it

    return notes_on_block(isa, code, predictors)


BLOCK_NOTES = (_notes_on_block,)
