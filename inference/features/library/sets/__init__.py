"""Experiment sets: pages, API, and merging."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "merge-sets",
        label="Merge",
        summary="Several experiment sets merged",
        example={"sets": [3, 4], "name": "both halves", "conflicts": "median", "tolerance": 5.0},
        lane=Lane.SHORT,
    ),
)
