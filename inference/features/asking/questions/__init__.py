"""Block queries: what predictors answer for basic blocks, and why they differ."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "ask",
        label="Block query",
        summary="Predictions for basic blocks",
        example={"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
        lane=Lane.INTERACTIVE,
    ),
)
