"""Basic blocks that somebody asks about: who says what, and why they differ."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

KINDS = (
    RunKind(
        "ask",
        label="Block query",
        job=lazy(__name__, "job.AskJob"),
        summary="Predictions for basic blocks",
        example={"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
        lane=Lane.ASKING,
    ),
)

PRESENTATIONS = {"ask": lambda: KindPresentation(outcomes=lazy(__name__, "answer_pages.answers_of"))}

ORIGINS = (lazy(__name__, "query.memory_questions"),)

PANELS = (
    PagePanel(
        PanelPlace.PREDICTORS, "question", "", "inference/questions/box.html", lazy(__name__, "pages.box")
    ),
)
