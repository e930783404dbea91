"""Comparisons of any sources of answers on the items of a set, in views."""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "judge",
        label="Comparison",
        summary="Any sources of answers on the experiments or blocks of a set",
        example={"block_set": 6, "sources": ["core-model:2", "predictor:4"], "against": "column:17"},
        lane=Lane.INTERACTIVE,
    ),
    RunKind(
        "comparison",
        label="Predictor comparison",
        summary="Predictors compared with the measurements of a set",
        example={"experiment_set": 3, "mappings": [7], "predictors": [2], "most": 20000, "seed": 1},
        lane=Lane.INTERACTIVE,
    ),
)
