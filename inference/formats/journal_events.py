"""The events that journals hold, by their stored names; see `core.events` for what a class declares.

Events without a class are kept in the journal one by one, and nobody looks into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType

from inference.core.events import Event, declared
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
        list(load())  # imports them
    return declared


def replaced() -> list[str]:
    """Kinds of which only the newest event of a run still says something."""
    return [name for name, kind in kinds().items() if kind.replaced]


def read(kind: str, payload: Json, *, strict: bool = False) -> Event | None:
    """A stored event; None where the kind has no class, and for one that a newer event has replaced.

    See `Event.read`. Raises `ValidationError`.
    """
    declared_kind = kinds().get(kind)
    if declared_kind is None or (declared_kind.replaced and not payload):
        return None
    return declared_kind.read(payload, strict=strict)
