"""Completions: latencies, ports and slots of single schemes, added to a core model within seconds."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.learning.completing.job import CompletionJob  # noqa: PLC0415  runs load it

    return CompletionJob()


def _presentation() -> KindPresentation:
    from inference.features.learning.completing.query import description, outcomes  # noqa: PLC0415  pages load it

    return KindPresentation(words=description, outcomes=outcomes)


KINDS = (
    RunKind(
        "complete",
        label="Missing instructions",
        job=_job,
        summary="Measuring what a core model lacks",
        example={"core_model": 1, "schemes": [12, 40]},
        lane=Lane.INTERACTIVE,
    ),
)

PRESENTATIONS = {"complete": _presentation}
