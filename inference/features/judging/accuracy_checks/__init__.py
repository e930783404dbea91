"""How good predictors are on a machine: blocks of a set measured there, and everything that predicts them."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "accuracy-check",
        label="Accuracy check",
        job="inference.features.judging.accuracy_checks.job.AccuracyCheckJob",
        summary="How good core model, mappings and tools are on a machine",
        example={"machine": 1, "block_set": 6, "blocks": 500, "seed": 1},
        lane=Lane.MEASURING,
        words="inference.features.judging.accuracy_checks.query.words",
        outcomes="inference.features.judging.accuracy_checks.query.checks_of",
    ),
)

OPERATIONS = (("/accuracy-checks", "api"),)
