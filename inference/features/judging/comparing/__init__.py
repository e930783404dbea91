"""Comparisons of two mappings, of two experiment sets, and of several sets of latencies."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _compare_sets_job() -> Job:
    from inference.features.judging.comparing.sets import CompareSetsJob  # noqa: PLC0415  runs load it

    return CompareSetsJob()


KINDS = (
    RunKind(
        "compare-sets",
        label="Set comparison",
        job=_compare_sets_job,
        summary="Two experiment sets side by side",
        example={"first": 3, "second": 4},
        lane=Lane.SHORT,
    ),
)
