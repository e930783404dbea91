"""Basic blocks: decoding, measurement, and port load."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "block",
        label="Block measurement",
        summary="Basic blocks on a machine",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "unrolled"}},
        lane=Lane.MEASURING,
    ),
    RunKind(
        "quick-block",
        label="Block measurement",
        summary="A basic block on a machine, between the batches of longer runs",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "loop"}},
        lane=Lane.INTERACTIVE,
    ),
)
