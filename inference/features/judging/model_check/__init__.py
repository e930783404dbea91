"""How well the port mapping model describes a machine (thesis §3.2.2)."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind


def _job() -> Job:
    from inference.features.judging.model_check.job import CheckModelJob  # noqa: PLC0415  runs load it

    return CheckModelJob()


def _presentation() -> KindPresentation:
    from inference.features.judging.model_check.request import archived  # noqa: PLC0415  pages load it
    from inference.features.judging.model_check.result_pages import check_words, model_checked  # noqa: PLC0415  pages load it

    return KindPresentation(words=check_words, page=model_checked, archived=archived)


KINDS = (
    RunKind(
        "check-model",
        label="Model check",
        job=_job,
        summary="How well the port mapping model describes a machine",
        example={"machine": 2, "reference": 7, "mixes": 200, "sequences": 50},
        lane=Lane.MEASURING,
    ),
)

PRESENTATIONS = {"check-model": _presentation}
