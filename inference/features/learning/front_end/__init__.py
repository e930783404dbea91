"""Front ends of cores, measured by code that only the front end limits."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.learning.front_end.job import FrontEndJob  # noqa: PLC0415  runs load it

    return FrontEndJob()


KINDS = (
    RunKind(
        "front-end",
        label="Front end",
        job=_job,
        summary="Measuring a machine’s front end",
        example={"machine": 2},
        lane=Lane.MEASURING,
    ),
)
