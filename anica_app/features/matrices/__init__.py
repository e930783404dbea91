"""How often each two tools disagree about the blocks of a set."""

from inference.runs.kinds import RunKind

KINDS = (
    RunKind(
        "matrix",
        label="Matrix",
        job="anica_app.features.matrices.job.MatrixJob",
        summary="How often tools disagree about basic blocks",
        example={"predictors": [2, 5], "blocks": 2000, "length": 4, "interest": {"threshold": 0.5}},
        words="anica_app.features.matrices.asked.matrix_words",
        outcomes="anica_app.features.campaigns.asked.matrices_of",
    ),
)

OPERATIONS = (("/matrices", "api"),)
