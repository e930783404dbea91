"""Basic blocks that somebody asks about: who says what, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.runs.kinds import Lane, RunKind

if TYPE_CHECKING:
    from inference.models import Run
    from inference.web.origins import RunOrigin

KINDS = (
    RunKind(
        "ask",
        label="Block query",
        job="inference.features.asking.questions.job.AskJob",
        summary="Predictions for basic blocks",
        example={"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
        lane=Lane.ASKING,
        outcomes="inference.features.asking.questions.answer_pages.answers_of",
    ),
)


def _memory_questions(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    from inference.features.asking.questions.query import memory_questions  # noqa: PLC0415  loaded when it is needed

    return memory_questions(runs)


ORIGINS = (_memory_questions,)
