"""Experiment sets: shown, compared, merged."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind


def _compare_sets_job() -> Job:
    from inference.features.library.sets.job import CompareSetsJob  # noqa: PLC0415  runs load it

    return CompareSetsJob()


def _compare_sets_presentation() -> KindPresentation:
    from inference.features.library.sets.comparison_pages import comparisons_of  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=comparisons_of)


def _merge_sets_job() -> Job:
    from inference.features.library.sets.job import MergeSetsJob  # noqa: PLC0415  runs load it

    return MergeSetsJob()


KINDS = (
    RunKind(
        "compare-sets",
        label="Set comparison",
        job=_compare_sets_job,
        summary="Two experiment sets side by side",
        example={"first": 3, "second": 4},
        lane=Lane.SHORT,
    ),
    RunKind(
        "merge-sets",
        label="Merge",
        job=_merge_sets_job,
        summary="Several experiment sets merged",
        example={"sets": [3, 4], "name": "both halves", "conflicts": "median", "tolerance": 5.0},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {"compare-sets": _compare_sets_presentation}
