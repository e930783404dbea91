"""Block queries: what predictors answer for basic blocks, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.models import Run
    from inference.web.contributions import Context, RunOrigin


def _job() -> Job:
    from inference.features.asking.questions.job import AskJob  # noqa: PLC0415  runs load it

    return AskJob()


def _presentation() -> KindPresentation:
    from inference.features.asking.questions.answer_pages import outcomes_of  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=outcomes_of)


KINDS = (
    RunKind(
        "ask",
        label="Block query",
        job=_job,
        summary="Predictions for basic blocks",
        example={"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
        lane=Lane.INTERACTIVE,
    ),
)

PRESENTATIONS = {"ask": _presentation}

_EXAMPLE = "add rax, rbx\nmov rcx, qword ptr [rax+8]\nimul rdx, rcx"


def _memory_questions(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    from inference.features.asking.questions.query import memory_questions  # noqa: PLC0415  loaded when it is needed

    return memory_questions(runs)


ORIGINS = (_memory_questions,)


def _box(_request: HttpRequest, _subject: None) -> Context:
    from inference.features.asking.questions.form import BlockForm  # noqa: PLC0415  pages load it

    form = BlockForm(initial={"code": _EXAMPLE})
    return {"form": form, "harness_fields": form.harness_fields}


PANELS = (PagePanel(PanelPlace.PREDICTORS, "question", "", "inference/questions/box.html", _box),)
