"""How much of what is interesting the discoveries of campaigns explain."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "coverage",
        label="Coverage",
        job="anica_app.features.coverage.job.CoverageJob",
        summary="How much of what is interesting discoveries explain",
        example={"campaigns": [4], "block_set": 6, "columns": ["one", "two"], "interest": {"threshold": 0.5}},
        lane=Lane.SHORT,
        words="anica_app.features.block_sets.asked.coverage_words",
        outcomes="anica_app.features.campaigns.asked.coverages_of",
    ),
)
