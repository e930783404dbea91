"""Completions: latencies, ports and slots of single schemes, added to a core model within seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from inference.features.library.instruction.query import InstructionCard
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.learning.completing.job import CompletionJob  # noqa: PLC0415  runs load it

    return CompletionJob()


def _presentation() -> KindPresentation:
    from inference.features.learning.completing.query import description, outcomes  # noqa: PLC0415  pages load it

    return KindPresentation(words=description, outcomes=outcomes)


def _of_card(_request: HttpRequest, card: InstructionCard) -> Context | None:
    from inference.features.learning.completing.query import card_context  # noqa: PLC0415  pages load it

    return card_context(card)


def _measure_forms(request: HttpRequest, card: InstructionCard) -> HttpResponse | Context:
    from inference.features.learning.completing.query import start_for_card  # noqa: PLC0415  pages load it

    return start_for_card(request, card)


KINDS = (
    RunKind(
        "complete",
        label="Missing instructions",
        job=_job,
        summary="Measuring what a core model lacks",
        example={"core_model": 1, "schemes": [12, 40]},
        lane=Lane.INTERACTIVE,
    ),
)

PRESENTATIONS = {"complete": _presentation}

PANELS = (
    PagePanel(
        PanelPlace.INSTRUCTION,
        "measure-here",
        "Measure here",
        "inference/completing/of_card.html",
        _of_card,
        _measure_forms,
        scripts=("polling",),
    ),
)
