"""The accuracy of a basic-block set's columns against one of them, and a gate against earlier scores."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.judging.column_accuracy.job import AccuracyJob  # noqa: PLC0415  runs load it

    return AccuracyJob()


KINDS = (
    RunKind(
        "accuracy",
        label="Accuracy",
        job=_job,
        summary="Accuracy of the columns of a basic-block set against one of them",
        example={"block_set": 6, "reference": 8},
        lane=Lane.SHORT,
    ),
)
