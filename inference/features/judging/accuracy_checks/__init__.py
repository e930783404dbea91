"""How good predictors are on a machine: blocks of a set measured there, and everything that predicts them."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import MenuEntry, MenuPlace


def _job() -> Job:
    from inference.features.judging.accuracy_checks.job import AccuracyCheckJob  # noqa: PLC0415  runs load it

    return AccuracyCheckJob()


def _presentation() -> KindPresentation:
    from inference.features.judging.accuracy_checks.query import words  # noqa: PLC0415  pages load it
    from inference.features.judging.engine.addresses import comparisons_of  # noqa: PLC0415  pages load it

    return KindPresentation(words=words, outcomes=comparisons_of)


KINDS = (
    RunKind(
        "accuracy-check",
        label="Accuracy check",
        job=_job,
        summary="How good core model, mappings and tools are on a machine",
        example={"machine": 1, "block_set": 6, "blocks": 500, "seed": 1},
        lane=Lane.MEASURING,
    ),
)

PRESENTATIONS = {"accuracy-check": _presentation}

MENUS = (
    MenuEntry(
        MenuPlace.MACHINE,
        "Check accuracy …",
        "accuracy-check-new",
        "How good its core model, its mappings and all tools predict blocks that are measured on it",
        "chart",
    ),
)
