"""Explains why predictors differ on one block, or what one prediction depends on, by generalising the
block.
"""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from anica_app.features.explanations.job import GeneraliseJob  # noqa: PLC0415  runs load it

    return GeneraliseJob()


KINDS = (
    RunKind(
        "generalise",
        label="Generalisation",
        job=_job,
        summary="What blocks like a given one have in common",
        example={"predictors": [2, 5], "block": "480fbcc3", "settings": {"metric": "relative"}},
        lane=Lane.INTERACTIVE,
    ),
)
