"""Comparisons of two mappings, of two experiment sets, and of several sets of latencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.web.contributions import Context


def _tab(request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.judging.comparing.pages import compare_tab  # noqa: PLC0415  pages load it, not every start

    return compare_tab(request, subject.row)


def _compare_sets_job() -> Job:
    from inference.features.judging.comparing.sets import CompareSetsJob  # noqa: PLC0415  runs load it

    return CompareSetsJob()


def _presentation() -> KindPresentation:
    from inference.features.judging.comparing.measured_pages import outcomes_of_pairs  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=outcomes_of_pairs)


KINDS = (
    RunKind(
        "compare-sets",
        label="Set comparison",
        job=_compare_sets_job,
        summary="Two experiment sets side by side",
        example={"first": 3, "second": 4},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {"compare-sets": _presentation}

PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "compare",
        "Compare",
        "inference/comparing/compare.html",
        _tab,
        order=40,
        styles=("css/core-diagram.css",),
    ),
)
