"""Completions: latencies, ports and slots of single schemes, added to a core model within seconds."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "complete",
        label="Missing instructions",
        summary="Measuring what a core model lacks",
        example={"core_model": 1, "schemes": [12, 40]},
        lane=Lane.INTERACTIVE,
    ),
)
