"""Predictors beside the measurements of an experiment set."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "comparison",
        label="Predictor comparison",
        job="inference.features.judging.comparisons.job.ComparisonJob",
        summary="Predictors beside the measurements of a set",
        example={"experiment_set": 3, "mappings": [7], "predictors": [2], "most": 20000, "seed": 1},
        lane=Lane.ASKING,
        outcomes="inference.features.judging.comparisons.pages.comparisons_of",
    ),
)

OPERATIONS = (("/predictor-comparisons", "api"),)
