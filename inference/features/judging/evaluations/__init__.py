"""Evaluations of mappings on the measurements of experiment sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.features.library.resources.query import ResourceMappingSubject
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.judging.evaluations.job import EvaluateJob  # noqa: PLC0415  runs load it

    return EvaluateJob()


def _presentation() -> KindPresentation:
    from inference.features.running.runs.archive import archived_evaluation  # noqa: PLC0415  pages load it

    return KindPresentation(archived=archived_evaluation)


KINDS = (
    RunKind(
        "evaluate",
        label="Evaluation",
        job=_job,
        summary="Evaluation of a port mapping on measurements",
        example={"mapping": 7, "experiment_set": 3, "unit": "cycles"},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {"evaluate": _presentation}


def _tab(request: HttpRequest, subject: MappingSubject | ResourceMappingSubject) -> Context:
    from inference.features.judging.evaluations.pages import accuracy_tab  # noqa: PLC0415  pages load it

    return accuracy_tab(request, subject.row)


PANELS = tuple(
    PagePanel(
        place_of,
        "accuracy",
        "Accuracy",
        "inference/evaluations/accuracy.html",
        _tab,
        order=10,
        scripts=("js/heatmap.js", "js/small-maps.js"),
        styles=("css/comparisons.css",),
    )
    for place_of in (PanelPlace.MAPPING, PanelPlace.RESOURCE_MAPPING)
)
