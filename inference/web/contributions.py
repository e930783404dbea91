"""What features contribute to pages of others: panels, menus, search, origins, dependents, routers.

They declare it in the modules of their pages, which are imported when one of these is needed first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from inference.models import Predictor, Run
from inference.runs.request import is_id
from inference.web.validation import choice_parameter

if TYPE_CHECKING:  # every process imports this file, few answer requests or publish
    from django.db.models import QuerySet
    from ninja import Router

    from inference.web.published_page import PublishedPage


Context = dict[str, Any]

PAGE_MODULES: list[Callable[[], Iterable[ModuleType]]] = []
"""Functions that import the modules of a feature's pages."""


@cache
def contributed(constant: str) -> tuple[Any, ...]:
    """What all features declare in constants of this name, in the order of the features."""
    modules = chain.from_iterable(load() for load in PAGE_MODULES)
    return tuple(chain.from_iterable(getattr(module, constant, ()) for module in modules))


class PanelPlace(StrEnum):
    """Pages with panels; the comment names the subject that panels get."""

    MAPPING = "mapping"  # tabs; `library.mappings.query.MappingSubject`
    BELOW_MAPPING = "below a mapping"  # on all tabs; `MappingSubject`
    RESOURCE_MAPPING = "resource mapping"  # tabs; `library.resources.query.ResourceMappingSubject`
    MACHINE = "machine"  # results of measuring it; `Machine`
    CORE_MODEL = "core model"  # top of the page; `StoredCoreModel`, unsaved for a recorded core
    SCHEME = "scheme"  # `InstructionScheme`
    INSTRUCTION = "instruction"  # `library.instruction.query.InstructionCard`
    PREDICTORS = "predictors"  # below the list, above it with a negative `order`; None
    BLOCK_SET = "block set"  # tabs; `asking.block_sets.query.BlockSetView`
    BLOCK_SET_TOP = "top of a block set"  # on all tabs; `BlockSetView`
    PROGRAM = "program"  # top of the page of an uploaded program; `Upload`
    BLOCK = "shown block"  # `asking.questions.query.QuestionBlock`


@dataclass(frozen=True)
class PagePanel:
    """A tab or a section.

    Args:
        page: The page.
        name: Identifier in addresses and forms; unique on that page.
        title: Heading, or text of the tab.
        template: Path of the template.
        context: Computes the template's context from the request and the page's subject; None hides the
            panel.
        handle_form: Handles a POST whose field `press` is the panel's name; returns a response, or the
            context with errors to render the page again.
        order: Panels are sorted by this number.
        applies: Whether the subject has this panel.
        styles, scripts: Static files that the panel needs.
    """

    page: PanelPlace
    name: str
    title: str
    template: str
    context: Callable[[HttpRequest, Any], Context | None]
    handle_form: Callable[[HttpRequest, Any], HttpResponse | Context] | None = None
    order: int = 0
    applies: Callable[[Any], bool] = lambda subject: True
    styles: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True)
class RenderedPanel:
    panel: PagePanel
    context: Context
    html: str


def panels_of(page: PanelPlace, subject: Any) -> list[PagePanel]:
    """Panels of a page for a subject, in their order."""
    panels: Iterable[PagePanel] = contributed("PANELS")
    matching = (panel for panel in panels if panel.page == page and panel.applies(subject))
    return sorted(matching, key=lambda panel: panel.order)


def rendered_panels(
    request: HttpRequest, page: PanelPlace, subject: Any, rejected: Context | None = None
) -> list[RenderedPanel]:
    """Panels with a context, rendered. `rejected`: context of the panel whose form had errors."""
    rendered = []
    for panel in panels_of(page, subject):
        is_rejected = rejected is not None and request.POST.get("press") == panel.name
        context = rejected if is_rejected else panel.context(request, subject)
        if context is not None:
            rendered.append(RenderedPanel(panel, context, render_to_string(panel.template, context, request)))
    return rendered


def tabs_of(request: HttpRequest, page: PanelPlace, subject: Any, default: str) -> Context:
    """Context of a page with tabs; the parameter `tab` selects one, else it is `default`."""
    tabs = {panel.name: panel for panel in panels_of(page, subject)}
    tab = tabs[choice_parameter(request, "tab", tuple(tabs), default)]
    return {"tab": tab.name, "tabs": tabs.values(), "panel": tab, **(tab.context(request, subject) or {})}


def handle_panel_form(request: HttpRequest, page: PanelPlace, subject: Any) -> HttpResponse | Context | None:
    """Let a panel handle the POST; None if no panel has that form."""
    for panel in panels_of(page, subject):
        if panel.handle_form is not None and request.POST.get("press") == panel.name:
            return panel.handle_form(request, subject)
    return None


class MenuPlace(StrEnum):
    """Objects with menus; the comment says what an entry's address takes."""

    MAPPING = "mapping"  # the number of the mapping
    SET = "set"  # `?set=` of an experiment set, beside a heat map `mapping` or `resource_mapping` as well
    PREDICTOR_PAIR = "predictor pair"  # `?predictor=` twice; two that answered the same
    MACHINE = "machine"  # `?machine=`; of use to those who may start runs


@dataclass(frozen=True)
class MenuEntry:
    """An entry of a menu.

    Args:
        menu: The menu.
        title: Text of the entry.
        route: URL name of the page.
        hint: A few words about the page.
        icon: Name of the button's icon; "" for none.
        applies: Whether an object has this entry.
        listing, listed: URL name and title of the list of earlier results; "" for none.
    """

    menu: MenuPlace
    title: str
    route: str
    hint: str = ""
    icon: str = ""
    applies: Callable[[Any], bool] = lambda subject: True
    listing: str = ""
    listed: str = ""


def entries_of(menu: MenuPlace, subject: Any = None) -> list[MenuEntry]:
    """Entries of a menu, for an object if one is given."""
    entries: Iterable[MenuEntry] = contributed("MENUS")
    return [entry for entry in entries if entry.menu == menu and (subject is None or entry.applies(subject))]


@dataclass(frozen=True)
class Hit:
    """A search result: the row `pk`, on the page with the URL name `route`."""

    pk: int
    name: str
    detail: str
    route: str


@dataclass(frozen=True)
class SearchHits:
    """Search results of one kind, best first; `total` includes the results beyond `hits`.

    `listing` is the URL name of the page with all results, and `listing_of` the argument of its address.
    """

    key: str
    title: str
    hits: Sequence[Hit]
    total: int
    listing: str
    listing_of: int | None = None


Finder = Callable[[str, int], list[SearchHits]]
"""Searches a text; the number limits the hits per group.

Those in `FINDERS` belong to the search box, besides schemes and rows with names.
"""


@dataclass(frozen=True)
class RunOrigin:
    """The page from which a run was started, by the key `about` of its description."""

    text: str
    url: str


OriginFinder = Callable[[Sequence[Run]], dict[int, RunOrigin]]
"""Returns {run id: origin} of the runs that have one; in `ORIGINS`."""


def origins_of(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """{run id: origin} of the runs that have one."""
    finders: Iterable[OriginFinder] = contributed("ORIGINS")
    return dict(chain.from_iterable(find(runs).items() for find in finders))


def number_about(run: Run, name: str) -> int | None:
    """An id under the key `about` of the run's description; None if it is missing or malformed."""
    number = run.config.get("about", {}).get(name)
    return number if is_id(number) else None


@dataclass(frozen=True)
class BlockNote:
    """What is known about predictors of a block: a sentence, and the page that it is from."""

    text: str
    url: str


BlockNotes = Callable[[str, bytes, Sequence[Predictor]], Sequence[BlockNote]]
"""Notes on a block: its instruction set, its code, and the predictors that it is compared with.

In `BLOCK_NOTES`.
"""


def notes_on_block(isa: str, code: bytes, predictors: Sequence[Predictor]) -> list[BlockNote]:
    """What is known about these predictors of a block."""
    finders: Iterable[BlockNotes] = contributed("BLOCK_NOTES")
    return list(chain.from_iterable(find(isa, code, predictors) for find in finders))


@dataclass(frozen=True)
class Dependent:
    """Rows that depend on a row: kind and number, their fate, and whether they forbid its deletion."""

    label: str
    fate: str
    blocks: bool = False


@dataclass(frozen=True)
class Publishable:
    """A kind of result for static sites and shared links, in `PUBLISHED`.

    Its plural title, its rows, and the page of a row's id.
    """

    kind: str
    title: str
    rows: Callable[[], QuerySet[Any]]
    page: Callable[[int], PublishedPage]


Routers = Iterable[tuple["Router", str]]
"""(router, heading in the reference)."""

ROUTERS: list[Callable[[], Routers]] = []
"""Functions that import the API's routers; apps append theirs before the first address is resolved."""


def routers() -> Iterator[tuple[Router, str]]:
    """Routers of the API, in the order of the reference."""
    return chain.from_iterable(load() for load in ROUTERS)
