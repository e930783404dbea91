"""Classes of journal events by their stored names; see `core.events`.

Events without a class stay in the journal unread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType

from inference.core.events import Event, declared
from inference.core.protocols import Json

_LOADERS: list[Callable[[], Iterable[ModuleType]]] = []


def register(load: Callable[[], Iterable[ModuleType]]) -> None:
    """Register a function that imports modules declaring events; it runs before the first event is read."""
    _LOADERS.append(load)
    kinds.cache_clear()


@cache
def kinds() -> Mapping[str, type[Event]]:
    """{stored name: class} of all events."""
    for load in _LOADERS:
        list(load())  # imports them
    return declared


def replaced() -> list[str]:
    """Kinds of events of which only the newest of a run is used."""
    return [name for name, kind in kinds().items() if kind.replaced]


def read(kind: str, payload: Json, *, strict: bool = False) -> Event | None:
    """A stored event; None where the kind has no class, and for one that a newer event has replaced.

    See `Event.read`. Raises `ValidationError`.
    """
    declared_kind = kinds().get(kind)
    if declared_kind is None or (declared_kind.replaced and not payload):
        return None
    return declared_kind.read(payload, strict=strict)
