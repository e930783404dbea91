"""Front ends of cores, measured by code that only the front end limits."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "front-end",
        label="Front end",
        summary="Measuring a machine’s front end",
        example={"machine": 2},
        lane=Lane.MEASURING,
    ),
)
