"""Discoveries, the trees of their generalisation, and reports about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.models import InstructionScheme, Run
    from inference.web.contributions import Context, RunOrigin


def _questions_about_steps(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    from anica_app.features.discoveries.steps import questions_about_steps  # noqa: PLC0415  when it is needed

    return questions_about_steps(runs)


ORIGINS = (_questions_about_steps,)


def _of_scheme(request: HttpRequest, scheme: InstructionScheme) -> Context | None:
    from anica_app.features.discoveries.pages import discoveries_panel  # noqa: PLC0415  pages load it

    del request
    return discoveries_panel(scheme)


PANELS = (
    PagePanel(
        PanelPlace.SCHEME,
        "discoveries",
        "Discoveries",
        "anica/discoveries/mentions.html",
        _of_scheme,
        order=50,
    ),
)
