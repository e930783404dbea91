"""Port mappings: the list, and the page of each with its tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.web.contributions import Context


def _graph(request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.library.mappings.graph import graph_tab  # noqa: PLC0415  pages load it, not every start

    return graph_tab(request, subject.row, subject.value)


def _schemes(request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.library.mappings.schemes_tab import schemes_tab  # noqa: PLC0415  pages load it, not every start

    return schemes_tab(request, subject.row, subject.value)


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "graph",
        "Graph",
        "inference/mappings/graph.html",
        _graph,
        scripts=("js/graph.js",),
    ),
    PagePanel(
        PanelPlace.MAPPING, "schemes", "Schemes", "inference/mappings/schemes.html", _schemes, order=20
    ),
)
