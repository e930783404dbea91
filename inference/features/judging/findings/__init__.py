"""Findings about schemes, with their evidence.

Doubts, conflicts, experiments slower than predicted, and weak classes are computed when they are viewed. Two
kinds of runs find more: `check-model` measures how well the port mapping model describes a machine (thesis
§3.2.2), `llvm-difference` compares with LLVM's scheduling model.
"""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "llvm-difference",
        label="LLVM comparison",
        summary="A port mapping compared with LLVM’s scheduling model",
        example={"mapping": 7, "cpu": "haswell", "tolerance": 0.2},
        lane=Lane.SHORT,
    ),
    RunKind(
        "check-model",
        label="Model check",
        summary="How well the port mapping model describes a machine",
        example={"machine": 2, "reference": 7, "mixes": 200, "sequences": 50},
        lane=Lane.MEASURING,
    ),
)
