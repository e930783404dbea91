"""Accuracy checks: measure blocks of a set on a machine, and score everything that predicts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import MenuEntry, MenuPlace, PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.models import StoredCoreModel, Upload
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.judging.accuracy_checks.job import AccuracyCheckJob  # noqa: PLC0415  runs load it

    return AccuracyCheckJob()


def _presentation() -> KindPresentation:
    from inference.features.judging.accuracy_checks.query import check_description  # noqa: PLC0415  pages load it
    from inference.features.judging.engine.addresses import comparisons_of  # noqa: PLC0415  pages load it

    return KindPresentation(words=check_description, outcomes=comparisons_of)


def _verdict(request: HttpRequest, row: StoredCoreModel) -> Context:
    from inference.features.judging.accuracy_checks.core_verdict import verdict_context  # noqa: PLC0415  pages load it

    return verdict_context(request, row)


def _program(request: HttpRequest, upload: Upload) -> Context | None:
    from inference.features.judging.accuracy_checks.pages import program_context  # noqa: PLC0415  pages load it

    return program_context(upload)


def _predictors(_request: HttpRequest, _subject: None) -> Context | None:
    from inference.features.judging.accuracy_checks.core_verdict import (  # noqa: PLC0415  pages load it
        judged_predictors,
    )

    judged = judged_predictors()
    return {"judged": judged} if judged else None


PANELS = (
    PagePanel(
        PanelPlace.PREDICTORS,
        "accuracy",
        "Accuracy",
        "inference/accuracy_checks/of_predictors.html",
        _predictors,
        order=-10,
    ),
    PagePanel(
        PanelPlace.PROGRAM, "judge", "Judge tools", "inference/accuracy_checks/of_program.html", _program
    ),
    PagePanel(
        PanelPlace.CORE_MODEL, "verdict", "Accuracy", "inference/accuracy_checks/of_core_model.html", _verdict
    ),
)

KINDS = (
    RunKind(
        "accuracy-check",
        label="Accuracy check",
        job=_job,
        summary="Accuracy of core models, mappings and tools on a machine",
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
        "Accuracy of its core model, its mappings and all tools on blocks measured on it",
        "chart",
    ),
)
