"""The share of interesting blocks that the discoveries of campaigns cover."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "coverage",
        label="Coverage",
        summary="How much of what is interesting discoveries explain",
        example={"campaigns": [4], "block_set": 6, "columns": ["one", "two"], "interest": {"threshold": 0.5}},
        lane=Lane.SHORT,
    ),
)
