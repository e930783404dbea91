"""What features show on the pages of objects that others own: each registers its panels, once, at start-up.

The functions of a panel import what they need when they are called: registering loads no page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from inference.web.requests import one_of

Context = dict[str, Any]


class PanelPlace(StrEnum):
    """Pages with panels, each with what its panels are about."""

    MAPPING = "mapping"  # tabs; `library.mappings.query.ShownMapping`
    BELOW_MAPPING = "below a mapping"  # on all tabs; `ShownMapping`
    RESOURCE_MAPPING = "resource mapping"  # tabs; `library.resources.query.ShownResources`
    MACHINE = "machine"  # what came of measuring it; `Machine`
    SCHEME = "scheme"  # `InstructionScheme`
    PREDICTORS = "predictors"  # below the list; None
    BLOCK_SET = "block set"  # tabs; `asking.block_sets.query.ShownSet`
    SHOWN_BLOCK = "shown block"  # `asking.questions.query.ShownBlock`


@dataclass(frozen=True)
class PagePanel:
    """A tab or a section.

    Args:
        of: The page.
        name: In addresses and forms; unique on that page.
        title: Above it, or on the tab.
        template: Of what is in it.
        context: What the template needs, from the request and what the page is about; None where there is
            nothing to say.
        press: What a form of the panel does, whose button is called `press` and has the panel's name as its
            value: an answer of its own, or the context with what is wrong, to show the page again.
        place: Panels of a page are in the order of these numbers.
        suits: Whether there is such a panel for what the page is about.
        styles, scripts: Static files that it needs.
    """

    of: PanelPlace
    name: str
    title: str
    template: str
    context: Callable[[HttpRequest, Any], Context | None]
    press: Callable[[HttpRequest, Any], HttpResponse | Context] | None = None
    place: int = 0
    suits: Callable[[Any], bool] = lambda subject: True
    styles: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShownPanel:
    """A panel with its context and its HTML."""

    panel: PagePanel
    context: Context
    html: str


_PANELS: dict[tuple[PanelPlace, str], PagePanel] = {}


def register(panels: Iterable[PagePanel]) -> None:
    """Add panels; one that is known already is replaced."""
    _PANELS.update({(panel.of, panel.name): panel for panel in panels})


def registered() -> list[PagePanel]:
    """All panels, in the order in which features were registered."""
    return list(_PANELS.values())


def panels_of(of: PanelPlace, subject: Any) -> list[PagePanel]:
    """Those on a page about a subject."""
    there = (panel for panel in registered() if panel.of == of and panel.suits(subject))
    return sorted(there, key=lambda panel: panel.place)


def shown_panels(
    request: HttpRequest, of: PanelPlace, subject: Any, pressed: Context | None = None
) -> list[ShownPanel]:
    """All that have something to say. `pressed`: the context of the one whose form is wrong."""
    found = []
    for panel in panels_of(of, subject):
        refused = pressed is not None and request.POST.get("press") == panel.name
        context = pressed if refused else panel.context(request, subject)
        if context is not None:
            found.append(ShownPanel(panel, context, render_to_string(panel.template, context, request)))
    return found


def tabs_of(request: HttpRequest, of: PanelPlace, subject: Any, usual: str) -> Context:
    """The tabs of a page with the context of that which the address names, else of the `usual` one."""
    tabs = {panel.name: panel for panel in panels_of(of, subject)}
    tab = tabs[one_of(request, "tab", tuple(tabs), usual)]
    return {"tab": tab.name, "tabs": tabs.values(), "panel": tab, **(tab.context(request, subject) or {})}


def press(request: HttpRequest, of: PanelPlace, subject: Any) -> HttpResponse | Context | None:
    """What the form did that was sent, None where no panel has such a button."""
    for panel in panels_of(of, subject):
        if panel.press is not None and request.POST.get("press") == panel.name:
            return panel.press(request, subject)
    return None
