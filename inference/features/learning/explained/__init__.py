"""Verdicts of explainable inference, and the evidence for each scheme's µops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.web.contributions import Context


def _tab(request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.learning.explained.pages import explained_tab  # noqa: PLC0415  pages load it, not every start

    return explained_tab(request, subject.row, subject.value)


def _has_verdicts(subject: MappingSubject) -> bool:
    from inference.features.learning.explained.query import is_explained  # noqa: PLC0415  pages load it

    return is_explained(subject.row)


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "explained",
        "Explained",
        "inference/explained/tab.html",
        _tab,
        order=100,
        applies=_has_verdicts,
        styles=("css/explain.css", "css/proof.css"),
    ),
)
