"""Experiment sets: shown, compared, merged."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy

KINDS = (
    RunKind(
        "compare-sets",
        label="Set comparison",
        job=lazy(__name__, "job.CompareSetsJob"),
        summary="Two experiment sets side by side",
        example={"first": 3, "second": 4},
        lane=Lane.SHORT,
    ),
    RunKind(
        "merge-sets",
        label="Merge",
        job=lazy(__name__, "job.MergeSetsJob"),
        summary="Several experiment sets merged",
        example={"sets": [3, 4], "name": "both halves", "conflicts": "median", "tolerance": 5.0},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {
    "compare-sets": lambda: KindPresentation(outcomes=lazy(__name__, "comparison_pages.comparisons_of"))
}
