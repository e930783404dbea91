"""The accuracy of a basic-block set's columns against one of them, and a gate against earlier scores."""

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
    from inference.features.judging.column_accuracy.job import AccuracyJob  # noqa: PLC0415  runs load it

    return AccuracyJob()


def _presentation() -> KindPresentation:
    from inference.features.asking.block_sets.query import outcomes_of  # noqa: PLC0415  pages load it
    from inference.features.judging.column_accuracy.pages import accuracy_description  # noqa: PLC0415  pages load it

    return KindPresentation(words=accuracy_description, outcomes=outcomes_of)


KINDS = (
    RunKind(
        "accuracy",
        label="Accuracy",
        job=_job,
        summary="Accuracy of the columns of a basic-block set against one of them",
        example={"block_set": 6, "reference": 8},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {"accuracy": _presentation}


def _tab(request: HttpRequest, subject: BlockSetView) -> Context:
    from inference.features.judging.column_accuracy.pages import accuracy_tab  # noqa: PLC0415  pages load it, not every start

    return accuracy_tab(request, subject.row, subject.columns)


def _top(request: HttpRequest, subject: BlockSetView) -> Context | None:
    from inference.features.judging.column_accuracy.pages import top_context  # noqa: PLC0415  pages load it, not every start

    return top_context(request, subject)


PANELS = (
    PagePanel(PanelPlace.BLOCK_SET_TOP, "verdict", "Verdict", "inference/column_accuracy/top.html", _top),
    PagePanel(PanelPlace.BLOCK_SET, "accuracy", "Accuracy", "inference/column_accuracy/tab.html", _tab),
)
