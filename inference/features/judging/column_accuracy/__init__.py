"""The accuracy of a basic-block set's columns against one of them, and a gate against earlier scores."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "accuracy",
        label="Accuracy",
        summary="Accuracy of the columns of a basic-block set against one of them",
        example={"block_set": 6, "reference": 8},
        lane=Lane.SHORT,
    ),
)
