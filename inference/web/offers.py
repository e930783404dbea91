"""What other apps offer on the pages of mappings, schemes, sets and machines, registered at start-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.module_loading import import_string

from inference.models import PortMapping

# What other apps offer on a mapping's page beside its exports: they fill this when they start.
#
# Light on purpose: registering must not load the pages.


@dataclass(frozen=True)
class MappingOffer:
    """A page about a mapping: `title` and `hint` for the menu, `route` its name, which takes the number.

    `suits`: whether there is such a page for this mapping.
    """

    title: str
    hint: str
    route: str
    suits: Callable[[PortMapping], bool] = lambda row: True


_OFFERS: list[MappingOffer] = []


def offer_on_mapping(offer: MappingOffer) -> None:
    """Add an offer, once; an app does so when it is ready."""
    if offer.route not in {known.route for known in _OFFERS}:
        _OFFERS.append(offer)


def offers_for(row: PortMapping) -> list[MappingOffer]:
    """What is offered for this mapping."""
    return [offer for offer in _OFFERS if offer.suits(row)]


# What other apps offer on an experiment set's page and beside a heat map on a set: they fill this when they
# start.
#
# Light on purpose: registering must not load the pages.


@dataclass(frozen=True)
class SetOffer:
    """A page about a set: `title` and `icon` of its button, `route` its name.

    Its address takes the number of the set as `set`, and on the page of a mapping that of the mapping as
    `mapping` or `resource_mapping`. `listing` is the name of the page that lists what was made so, with
    `listed` its title.
    """

    title: str
    icon: str
    route: str
    listing: str
    listed: str


OFFERS: dict[str, SetOffer] = {}
"""By route."""


def offer_on_set(offer: SetOffer) -> None:
    """Add an offer, once; an app does so when its pages are loaded."""
    OFFERS[offer.route] = offer


# What other apps offer to do on a machine: they fill this when they start.


@dataclass(frozen=True)
class MachineOffer:
    """A form about a machine that measures: `title`, `hint` and `icon` of its button, `route` its name.

    Its address takes the number of the machine as `machine`. It is of use to those who may start runs.
    """

    title: str
    hint: str
    icon: str
    route: str


MACHINE_OFFERS: dict[str, MachineOffer] = {}
"""By route."""


def offer_on_machine(offer: MachineOffer) -> None:
    """Add an offer, once; an app does so when it is ready."""
    MACHINE_OFFERS[offer.route] = offer


# Which schemes occur in a set of basic blocks, which another app has: it says so when it starts.


_SCHEMES_OF_BLOCKS: list[str] = []


def say_schemes_of_blocks(path: str) -> None:
    """The dotted path of (name of a set) → texts of its schemes; `LookupError` where there is no such set."""
    _SCHEMES_OF_BLOCKS[:] = [path]


def schemes_of_blocks(name: str) -> list[str]:
    """The schemes of all blocks of a set. Raises `LookupError`."""
    if not _SCHEMES_OF_BLOCKS:
        raise LookupError("this site has no sets of basic blocks")
    find: Callable[[str], list[str]] = import_string(_SCHEMES_OF_BLOCKS[0])
    return find(name)


# What of other apps can be published as a static site (`inference.features.publishing`).


@dataclass(frozen=True)
class Publishable:
    """A kind: its title in the plural, and the dotted paths of its rows, which have names, and of a page.

    The latter takes a row's number and returns an `inference.web.published_page.PublishedPage`.
    """

    kind: str
    title: str
    rows: str
    page: str


_PUBLISHED: dict[str, Publishable] = {}


def offer_to_publish(offer: Publishable) -> None:
    """Add a kind; an app does so when it is ready."""
    _PUBLISHED[offer.kind] = offer


def published_by_others() -> list[Publishable]:
    """The kinds of other apps."""
    return list(_PUBLISHED.values())


_DEPENDENTS: dict[str, str] = {}


def say_dependents(model: str, path: str) -> None:
    """What depends on a row of a model ("app.Model"): the dotted path of (row) → `naming.Dependent`s."""
    _DEPENDENTS[model] = path


def dependents_path(model: str) -> str:
    """The path of the function that knows what depends on rows of a model; "" for this app's own."""
    return _DEPENDENTS.get(model, "")


# What the search box finds in other apps.

_FINDERS: list[str] = []


def find_more(path: str) -> None:
    """Add a `Finder` (`inference.features.library.search.query`) by its dotted path, once."""
    if path not in _FINDERS:
        _FINDERS.append(path)


def finders() -> list[str]:
    """The dotted paths of the finders of other apps."""
    return list(_FINDERS)
