"""Comparisons of two mappings, of two experiment sets, and of several sets of latencies."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "compare-sets",
        label="Set comparison",
        summary="Two experiment sets side by side",
        example={"first": 3, "second": 4},
        lane=Lane.SHORT,
    ),
)
