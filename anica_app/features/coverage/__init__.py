"""How much of what is interesting the discoveries of campaigns explain."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

KINDS = (
    RunKind(
        "coverage",
        label="Coverage",
        job=lazy(__name__, "job.CoverageJob"),
        summary="How much of what is interesting discoveries explain",
        example={"campaigns": [4], "block_set": 6, "columns": ["one", "two"], "interest": {"threshold": 0.5}},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {
    "coverage": lambda: KindPresentation(
        words=lazy(__name__, "asked.coverage_words"), outcomes=lazy(__name__, "asked.coverages_of")
    )
}

PANELS = (
    PagePanel(
        PanelPlace.BLOCK_SET,
        "coverage",
        "Coverage by campaigns",
        "anica/coverage/tab.html",
        lazy(__name__, "pages.coverage_tab"),
    ),
)
