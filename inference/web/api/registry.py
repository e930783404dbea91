"""The routers of the API, in the order of the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every process reads this file, few ever answer a request
    from ninja import Router

Routers = Iterable[tuple["Router", str]]
"""Each with its heading in the reference."""

_LOADERS: list[Callable[[], Routers]] = []


def register(load: Callable[[], Routers]) -> None:
    """Add what imports routers; apps do so when they are ready, before the first address is resolved."""
    _LOADERS.append(load)


def routers() -> Iterator[tuple[Router, str]]:
    return chain.from_iterable(load() for load in _LOADERS)
