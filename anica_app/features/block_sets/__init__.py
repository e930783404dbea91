"""Basic-block sets: brought in, asked about, compared column by column."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "import-anica",
        label="Block import",
        job="anica_app.features.block_sets.import_job.ImportAnicaJob",
        summary="A basic-block set or a campaign from a file",
        example={"upload": 5, "name": "BHive on Haswell", "broken": "skip", "numbers": "cycles"},
        lane=Lane.SHORT,
        words="anica_app.features.block_sets.asked.import_words",
        outcomes="anica_app.features.block_sets.asked.imports_of",
    ),
    RunKind(
        "loops",
        label="Loop search",
        job="anica_app.features.block_sets.loops_job.LoopsJob",
        summary="The loops of a compiled program",
        example={"upload": 5, "functions": "mat*"},
        lane=Lane.SHORT,
        outcomes="anica_app.features.block_sets.asked.loops_of",
    ),
    RunKind(
        "columns",
        label="Predictions",
        job="anica_app.features.block_sets.columns.ColumnsJob",
        summary="Predictions for all blocks of a set",
        example={"block_set": 6, "predictors": [2, 5]},
        words="anica_app.features.block_sets.asked.columns_words",
        outcomes="anica_app.features.block_sets.asked.sets_of",
    ),
    RunKind(
        "accuracy",
        label="Accuracy",
        job="anica_app.features.block_sets.accuracy_job.AccuracyJob",
        summary="How well the columns of a basic-block set agree with one of them",
        example={"block_set": 6, "reference": 8},
        lane=Lane.SHORT,
        words="anica_app.features.block_sets.asked.accuracy_words",
        outcomes="anica_app.features.block_sets.asked.sets_of",
    ),
)
