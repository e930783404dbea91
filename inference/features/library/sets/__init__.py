"""Experiment sets: pages, API, and merging."""

from inference.runs.kinds import Job, Lane, RunKind


def _merge_sets_job() -> Job:
    from inference.features.library.sets.job import MergeSetsJob  # noqa: PLC0415  runs load it

    return MergeSetsJob()


KINDS = (
    RunKind(
        "merge-sets",
        label="Merge",
        job=_merge_sets_job,
        summary="Several experiment sets merged",
        example={"sets": [3, 4], "name": "both halves", "conflicts": "median", "tolerance": 5.0},
        lane=Lane.SHORT,
    ),
)
