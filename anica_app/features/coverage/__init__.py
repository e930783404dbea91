"""The share of interesting blocks that the discoveries of campaigns cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.asking.block_sets.query import BlockSetView
    from inference.web.contributions import Context


def _job() -> Job:
    from anica_app.features.coverage.job import CoverageJob  # noqa: PLC0415  runs load it

    return CoverageJob()


def _presentation() -> KindPresentation:
    from anica_app.features.coverage.query import coverage_words, coverages_of  # noqa: PLC0415  pages load it

    return KindPresentation(words=coverage_words, outcomes=coverages_of)


KINDS = (
    RunKind(
        "coverage",
        label="Coverage",
        job=_job,
        summary="How much of what is interesting discoveries explain",
        example={"campaigns": [4], "block_set": 6, "columns": ["one", "two"], "interest": {"threshold": 0.5}},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {"coverage": _presentation}


def _tab(request: HttpRequest, subject: BlockSetView) -> Context:
    from anica_app.features.coverage.pages import coverage_tab  # noqa: PLC0415  pages load it, not every start

    return coverage_tab(request, subject)


PANELS = (
    PagePanel(PanelPlace.BLOCK_SET, "coverage", "Coverage by campaigns", "anica/coverage/tab.html", _tab),
)
