"""Why predictors differ about one block, or what one prediction rests on: it is generalised."""

from __future__ import annotations

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace


def _presentation() -> KindPresentation:
    from anica_app.features.campaigns.asked import campaigns_of  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=campaigns_of)


KINDS = (
    RunKind(
        "generalise",
        label="Generalisation",
        job=lazy(__name__, "job.GeneraliseJob"),
        summary="What blocks like a given one have in common",
        example={"predictors": [2, 5], "block": "480fbcc3", "settings": {"metric": "relative"}},
        lane=Lane.ASKING,
    ),
)

PRESENTATIONS = {"generalise": _presentation}

PANELS = (
    PagePanel(
        PanelPlace.SHOWN_BLOCK,
        "explain",
        "Explain",
        "anica/explanations/section.html",
        lazy(__name__, "panel.context_of"),
        lazy(__name__, "panel.press"),
    ),
)
