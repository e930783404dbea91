"""Basic blocks: decoding, measurement, and port load."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.asking.blocks.job import BlockJob  # noqa: PLC0415  runs load it

    return BlockJob()


def _quick_job() -> Job:
    from inference.features.asking.blocks.job import QuickBlockJob  # noqa: PLC0415  runs load it

    return QuickBlockJob()


KINDS = (
    RunKind(
        "block",
        label="Block measurement",
        job=_job,
        summary="Basic blocks on a machine",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "unrolled"}},
        lane=Lane.MEASURING,
    ),
    RunKind(
        "quick-block",
        label="Block measurement",
        job=_quick_job,
        summary="A basic block on a machine, between the batches of longer runs",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "loop"}},
        lane=Lane.INTERACTIVE,
    ),
)
