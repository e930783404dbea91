"""Evaluations of mappings on the measurements of experiment sets."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.judging.evaluations.job import EvaluateJob  # noqa: PLC0415  runs load it

    return EvaluateJob()


KINDS = (
    RunKind(
        "evaluate",
        label="Evaluation",
        job=_job,
        summary="Evaluation of a port mapping on measurements",
        example={"mapping": 7, "experiment_set": 3, "unit": "cycles"},
        lane=Lane.SHORT,
    ),
)
