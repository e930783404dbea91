"""The events that journals hold, by their stored names; see `core.event` for what a class declares.

Events without a class are kept in the journal one by one, and nobody looks into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType

from inference.core.event import Event, declared
from inference.core.protocols import Json

_LOADERS: list[Callable[[], Iterable[ModuleType]]] = []


def register(load: Callable[[], Iterable[ModuleType]]) -> None:
    """Add modules that declare events, or import those that do, when the first event is looked at."""
    _LOADERS.append(load)
    kinds.cache_clear()


@cache
def kinds() -> Mapping[str, type[Event]]:
    """All classes by their stored names."""
    for load in _LOADERS:
        load()
    return declared


def replaced() -> list[str]:
    """Kinds of which only the newest event of a run still says something."""
    return [name for name, kind in kinds().items() if kind.replaced]


def line(kind: str, payload: Json) -> str:
    """An event for the shell; "" for those that only pictures need."""
    event = kinds().get(kind)
    return "" if event is None else event.line(payload)
