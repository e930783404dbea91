"""Know this CPU: one part of a machine's core after another, from its ports to its scheduler."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.learning.know.job import KnowJob  # noqa: PLC0415  runs load it

    return KnowJob()


def _presentation() -> KindPresentation:
    from inference.features.learning.core_model.query import outcomes  # noqa: PLC0415  pages load it
    from inference.features.learning.know.pages import parts  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=outcomes, page=parts)


KINDS = (
    RunKind(
        "know",
        label="Know this CPU",
        job=_job,
        summary="Finding out how a machine’s core works",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
        keeps=lambda _run: (
            "Parts that are done stay, the one at work ends with what it has, and later ones are left out."
        ),
    ),
)

PRESENTATIONS = {"know": _presentation}
