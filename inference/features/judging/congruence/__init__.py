"""How well established it is that schemes of a class behave alike, and what would establish it better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.web.panels import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import ShownMapping
    from inference.web.panels import Context


def _tab(request: HttpRequest, subject: ShownMapping) -> Context:
    from inference.features.judging.congruence.pages import classes_tab  # noqa: PLC0415  pages load it, not every start

    return classes_tab(request, subject.row, subject.value)


def _has_classes(subject: ShownMapping) -> bool:
    return bool(subject.row.report.get("congruence_classes"))


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "classes",
        "Classes",
        "inference/inferring/classes.html",
        _tab,
        place=80,
        suits=_has_classes,
    ),
)
