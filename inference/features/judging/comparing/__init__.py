"""Two models of a processor side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import ShownMapping
    from inference.web.contributions import Context


def _tab(request: HttpRequest, subject: ShownMapping) -> Context:
    from inference.features.judging.comparing.pages import compare_tab  # noqa: PLC0415  pages load it, not every start

    return compare_tab(request, subject.row)


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "compare",
        "Compare",
        "inference/comparing/compare.html",
        _tab,
        place=40,
        styles=("css/core-diagram.css",),
    ),
)
