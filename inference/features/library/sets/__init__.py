"""Experiment sets: shown, compared, merged."""

from inference.runs.kinds import Lane, RunKind

OPERATIONS = (("", "api"), ("", "comparison_api"))

KINDS = (
    RunKind(
        "compare-sets",
        label="Set comparison",
        job="inference.features.library.sets.job.CompareSetsJob",
        summary="Two experiment sets side by side",
        example={"first": 3, "second": 4},
        lane=Lane.SHORT,
        outcomes="inference.features.library.sets.comparison_pages.comparisons_of",
    ),
    RunKind(
        "merge-sets",
        label="Merge",
        job="inference.features.library.sets.job.MergeSetsJob",
        summary="Several experiment sets merged",
        example={"sets": [3, 4], "name": "both halves", "conflicts": "median", "tolerance": 5.0},
        lane=Lane.SHORT,
    ),
)
