"""What features fold out of the journals of runs, for their pages: each registers its own at start-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from inference.core.events import Event


class RecordPart(Protocol):
    """What one feature reads out of a journal."""

    def take(self, event: Event) -> None:
        """Fold an event in, of whatever kind; what an attempt tells again changes nothing."""
        ...

    def log_line(self, event: Event) -> str:
        """The line that the event adds to the log; "" for none, as where the page shows all of it."""
        return ""


_PARTS: dict[str, Callable[[], RecordPart]] = {}


def register(parts: Mapping[str, Callable[[], RecordPart]]) -> None:
    """Add parts by name; each function makes an empty one."""
    _PARTS.update(parts)


def empty_parts() -> dict[str, RecordPart]:
    return {name: make() for name, make in _PARTS.items()}
