"""Pages and forms of features in the menus of objects that others own, registered at start-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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


_ENTRIES: dict[tuple[MenuPlace, str], MenuEntry] = {}


def register(entries: Iterable[MenuEntry]) -> None:
    """Add entries; one that is known already is replaced."""
    _ENTRIES.update({(entry.of, entry.route): entry for entry in entries})


def entries_of(of: MenuPlace, subject: Any = None) -> list[MenuEntry]:
    """Those in the menu of an object."""
    return [
        entry for entry in _ENTRIES.values() if entry.of == of and (subject is None or entry.suits(subject))
    ]
