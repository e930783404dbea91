"""How well whatever predicts agrees with measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.panels import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import ShownMapping
    from inference.features.library.resources.query import ShownResources
    from inference.web.panels import Context


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


def _of_ports(request: HttpRequest, subject: ShownMapping) -> Context:
    from inference.core.predicting import PortMappingModel  # noqa: PLC0415  pages load it, not every start
    from inference.features.judging.evaluations.pages import accuracy_tab  # noqa: PLC0415  as above

    return accuracy_tab(request, subject.row, PortMappingModel(subject.value))


def _of_resources(request: HttpRequest, subject: ShownResources) -> Context:
    from inference.features.judging.evaluations.pages import accuracy_tab  # noqa: PLC0415  pages load it, not every start

    return accuracy_tab(request, subject.row, subject.value)


_SCRIPTS = ("js/heatmap.js", "js/figures.js")

PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "accuracy",
        "Accuracy",
        "inference/evaluations/accuracy.html",
        _of_ports,
        place=10,
        scripts=_SCRIPTS,
    ),
    PagePanel(
        PanelPlace.RESOURCE_MAPPING,
        "accuracy",
        "Accuracy",
        "inference/evaluations/accuracy.html",
        _of_resources,
        place=10,
        scripts=_SCRIPTS,
    ),
)
