"""Explains why predictors differ on one block, or what one prediction depends on, by generalising the
block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from inference.features.asking.questions.query import QuestionBlock
    from inference.web.contributions import Context


def _job() -> Job:
    from anica_app.features.explanations.job import GeneraliseJob  # noqa: PLC0415  runs load it

    return GeneraliseJob()


def _presentation() -> KindPresentation:
    from anica_app.features.campaigns.form import campaigns_of  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=campaigns_of)


KINDS = (
    RunKind(
        "generalise",
        label="Generalisation",
        job=_job,
        summary="What blocks like a given one have in common",
        example={"predictors": [2, 5], "block": "480fbcc3", "settings": {"metric": "relative"}},
        lane=Lane.INTERACTIVE,
    ),
)

PRESENTATIONS = {"generalise": _presentation}


def _context(request: HttpRequest, subject: QuestionBlock) -> Context:
    from anica_app.features.explanations.panel import context_of  # noqa: PLC0415  pages load it, not every start

    return context_of(request, subject)


def _press(request: HttpRequest, subject: QuestionBlock) -> HttpResponse | Context:
    from anica_app.features.explanations.panel import press  # noqa: PLC0415  pages load it, not every start

    return press(request, subject)


PANELS = (
    PagePanel(PanelPlace.BLOCK, "explain", "Generalise", "anica/explanations/section.html", _context, _press),
)
