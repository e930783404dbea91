"""Latencies from operand to operand, measured by chains of instructions."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.learning.latencies.job import LatenciesJob  # noqa: PLC0415  runs load it

    return LatenciesJob()


KINDS = (
    RunKind(
        "latencies",
        label="Latencies",
        job=_job,
        summary="Measuring latencies on a machine",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
    ),
)
