"""What is questionable of schemes, and the evidence: doubts, conflicts, excess, weak classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from inference.web.panels import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import ShownMapping
    from inference.web.panels import Context


def _tab(name: str, request: HttpRequest, subject: ShownMapping) -> Context:
    from inference.features.judging.findings.pages import TABS  # noqa: PLC0415  pages load it, not every start

    return TABS[name](request, subject.row, subject.value)


def _has_classes(subject: ShownMapping) -> bool:
    return bool(subject.row.report.get("congruence_classes"))


def _panel(name: str, place: int, **more: Any) -> PagePanel:
    template = f"inference/findings/{name}.html"
    return PagePanel(
        PanelPlace.MAPPING, name, name.title(), template, partial(_tab, name), place=place, **more
    )


PANELS = (
    _panel("doubts", 50, styles=("css/doubts.css",)),
    _panel("excess", 60),
    _panel("classes", 80, suits=_has_classes),
)
