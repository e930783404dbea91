"""What features add to pages, lists and answers that others own: each registers it once, at start-up.

The functions in it import what they need when they are called: registering loads no page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from inference.models import Run
from inference.runs.request import is_id
from inference.web.validation import one_of

if TYPE_CHECKING:  # every process reads this file, few ever answer a request or publish
    from django.db.models import QuerySet
    from ninja import Router

    from inference.web.published_page import PublishedPage


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


PANELS: list[PagePanel] = []


def panels_of(of: PanelPlace, subject: Any) -> list[PagePanel]:
    """Those on a page about a subject."""
    there = (panel for panel in PANELS if panel.of == of and panel.suits(subject))
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


class MenuPlace(StrEnum):
    """Objects with menus, and what the address of an entry takes."""

    MAPPING = "mapping"  # the number of the mapping
    SET = "set"  # `?set=` of an experiment set, beside a heat map `mapping` or `resource_mapping` as well
    PREDICTOR_PAIR = "predictor pair"  # `?predictor=` twice; two that answered the same
    MACHINE = "machine"  # `?machine=`; of use to those who may start runs


@dataclass(frozen=True)
class MenuEntry:
    """An entry.

    Args:
        of: Whose menu.
        title: What it is called.
        route: The name of the page's address.
        hint: What it gives, in a few words.
        icon: Of its button; "" for none.
        suits: Whether there is such a page for an object.
        listing, listed: The name of the page that lists what was made so, and its title; "" for none.
    """

    of: MenuPlace
    title: str
    route: str
    hint: str = ""
    icon: str = ""
    suits: Callable[[Any], bool] = lambda subject: True
    listing: str = ""
    listed: str = ""


MENUS: list[MenuEntry] = []


def entries_of(of: MenuPlace, subject: Any = None) -> list[MenuEntry]:
    """Those in the menu of an object."""
    return [entry for entry in MENUS if entry.of == of and (subject is None or entry.suits(subject))]


@dataclass(frozen=True)
class Hit:
    """Something that was found: the row `pk`, whose page has the address `route`."""

    pk: int
    name: str
    detail: str
    route: str


@dataclass(frozen=True)
class SearchHits:
    """What there is of a kind, the best first; `total` counts those that are not among `hits` as well.

    `listing` is the name of the page that lists them all by the same text; `listing_of` is what its address
    takes, if anything.
    """

    key: str
    title: str
    hits: Sequence[Hit]
    total: int
    listing: str
    listing_of: int | None = None


Finder = Callable[[str, int], list[SearchHits]]
"""What is found for a text, with at most so many hits in each group."""

FINDERS: list[Finder] = []
"""Of the search box, besides schemes and rows with names."""


@dataclass(frozen=True)
class RunOrigin:
    """The page that started a run, as the run's description says under `about`."""

    text: str
    url: str


OriginFinder = Callable[[Sequence[Run]], dict[int, RunOrigin]]
"""{number of a run: its origin} of those runs that it knows of."""

ORIGINS: list[OriginFinder] = []


def origins_of(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """{number of a run: its origin} of all that have one."""
    return dict(chain.from_iterable(find(runs).items() for find in ORIGINS))


def number_about(run: Run, name: str) -> int | None:
    """A number of what the run says that it is about, whoever wrote that."""
    number = run.config.get("about", {}).get(name)
    return number if is_id(number) else None


@dataclass(frozen=True)
class Dependent:
    """Rows that depend on something: what and how many, their fate, and whether they forbid its deletion."""

    label: str
    fate: str
    blocks: bool = False


DEPENDENTS: dict[str, Callable[[Any], list[Dependent]]] = {}
"""What depends on the rows of models, which are named as Django does: "app.Model"."""


@dataclass(frozen=True)
class Publishable:
    """A kind: its title in the plural, its rows, which have names, and the page of the one with a number."""

    kind: str
    title: str
    rows: Callable[[], QuerySet[Any]]
    page: Callable[[int], PublishedPage]


PUBLISHABLE: list[Publishable] = []
"""What can be published as a static site."""

Routers = Iterable[tuple["Router", str]]
"""Each with its heading in the reference."""

ROUTERS: list[Callable[[], Routers]] = []
"""What imports the routers of the API; apps add theirs before the first address is resolved."""


def routers() -> Iterator[tuple[Router, str]]:
    """Those of the API, in the order of the reference."""
    return chain.from_iterable(load() for load in ROUTERS)
