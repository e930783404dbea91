"""What explainable inference concluded, and the proof of each scheme's µops."""

from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "explained",
        "Explained",
        "inference/explained/tab.html",
        lazy(__name__, "pages.explained_tab"),
        place=100,
        suits=lazy(__name__, "pages.has_verdicts"),
        styles=("css/explain.css", "css/proof.css"),
    ),
)
