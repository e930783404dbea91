"""Evaluations of mappings on the measurements of experiment sets."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "evaluate",
        label="Evaluation",
        summary="Evaluation of a port mapping on measurements",
        example={"mapping": 7, "experiment_set": 3, "unit": "cycles"},
        lane=Lane.SHORT,
    ),
)
