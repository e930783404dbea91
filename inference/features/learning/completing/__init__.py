"""Completions: latencies, ports and slots of single schemes, added to a core model within seconds."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.learning.completing.job import CompletionJob  # noqa: PLC0415  runs load it

    return CompletionJob()


KINDS = (
    RunKind(
        "complete",
        label="Missing instructions",
        job=_job,
        summary="Measuring what a core model lacks",
        example={"core_model": 1, "schemes": [12, 40]},
        lane=Lane.INTERACTIVE,
    ),
)
