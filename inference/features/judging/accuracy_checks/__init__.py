"""Accuracy checks: measure blocks of a set on a machine, and score everything that predicts them."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "accuracy-check",
        label="Accuracy check",
        summary="Accuracy of core models, mappings and tools on a machine",
        example={"machine": 1, "block_set": 6, "blocks": 500, "seed": 1},
        lane=Lane.MEASURING,
    ),
)
