"""What the search box finds besides schemes and rows with names: features register finders at start-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


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

_FINDERS: list[Finder] = []


def register(finders: Iterable[Finder]) -> None:
    _FINDERS.extend(finder for finder in finders if finder not in _FINDERS)


def finders() -> list[Finder]:
    return list(_FINDERS)
