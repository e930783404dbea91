"""How often each two tools disagree on the blocks of a set.

The blocks may be fresh random ones; a disagreement is defined as for a campaign.
"""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, RunKind
from inference.web.contributions import MenuEntry, MenuPlace


def _job() -> Job:
    from anica_app.features.matrices.job import MatrixJob  # noqa: PLC0415  runs load it

    return MatrixJob()


def _presentation() -> KindPresentation:
    from anica_app.features.matrices.description import matrix_words  # noqa: PLC0415  pages load it
    from inference.features.judging.engine.addresses import comparisons_of  # noqa: PLC0415  pages load it

    return KindPresentation(words=matrix_words, outcomes=comparisons_of)


KINDS = (
    RunKind(
        "matrix",
        label="Matrix",
        job=_job,
        summary="How often tools disagree about basic blocks",
        example={"predictors": [2, 5], "blocks": 2000, "length": 4, "interest": {"threshold": 0.5}},
    ),
)

PRESENTATIONS = {"matrix": _presentation}

MENUS = (
    MenuEntry(
        MenuPlace.PREDICTOR_PAIR,
        "Start a campaign with these two",
        "campaign-new",
        "Which kinds of blocks they disagree about",
        "play",
    ),
)
