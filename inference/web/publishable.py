"""What can be published as a static site: features register their kinds at start-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # every process reads this file, few ever publish
    from django.db.models import QuerySet

    from inference.web.published_page import PublishedPage


@dataclass(frozen=True)
class Publishable:
    """A kind: its title in the plural, its rows, which have names, and the page of the one with a number."""

    kind: str
    title: str
    rows: Callable[[], QuerySet[Any]]
    page: Callable[[int], PublishedPage]


_PUBLISHABLE: dict[str, Publishable] = {}


def register(kinds: Iterable[Publishable]) -> None:
    """Add kinds; one that is known already is replaced."""
    _PUBLISHABLE.update({each.kind: each for each in kinds})


def publishable() -> list[Publishable]:
    return list(_PUBLISHABLE.values())
