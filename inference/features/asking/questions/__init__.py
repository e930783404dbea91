"""Block queries: what predictors answer for basic blocks, and why they differ."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.asking.questions.job import AskJob  # noqa: PLC0415  runs load it

    return AskJob()


KINDS = (
    RunKind(
        "ask",
        label="Block query",
        job=_job,
        summary="Predictions for basic blocks",
        example={"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
        lane=Lane.INTERACTIVE,
    ),
)
