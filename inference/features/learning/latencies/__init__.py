"""Latencies from operand to operand, measured by chains of instructions."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "latencies",
        label="Latencies",
        summary="Measuring latencies on a machine",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
    ),
)
