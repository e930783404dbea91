"""What a kind of event is to everybody who writes, replaces, archives or shows it, declared once per kind.

The class of a kind lies with the feature that tells it, in its `events.py`. Kinds without a class are kept in
the journal one by one, and nobody looks into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain
from types import ModuleType
from typing import ClassVar

from inference.core.protocols import Json
from inference.formats.archived_parts import ArchivedPart


class JournalEvent(ArchivedPart):
    """The payload of one kind: its fields are what pages and reports show of it; it may have more.

    `kind`: its name. `replaced`: only the newest of a run still says something, and an archive may have
    emptied the others. `counted_by`: the field that counts such events up, in a run or, `side_by_side`, for
    each value of another field. `once`: a run has one of them. A search that was taken up again from a
    checkpoint tells those that are counted or told once a second time, and the journal leaves that out.
    `at_once`: rare and told before what may take long, so it does not wait for a later event to be written.
    `point`: one of the many of a curve, which some of them show as well. `bulky`: emptied in the database as
    soon as a newer one is there.
    """

    kind: ClassVar[str]
    replaced: ClassVar[bool] = False
    counted_by: ClassVar[str] = ""
    side_by_side: ClassVar[str] = ""
    once: ClassVar[bool] = False
    at_once: ClassVar[bool] = False
    point: ClassVar[bool] = False
    bulky: ClassVar[bool] = False

    @staticmethod
    def line(_payload: Json) -> str:
        """The event in a line of the shell; "" where only pictures need it."""
        return ""

    @classmethod
    def is_numbered(cls) -> bool:
        """Whether the journal takes each only once."""
        return cls.once or bool(cls.counted_by)

    @classmethod
    def position_of(cls, payload: Json) -> int:
        """Where it stands in its series."""
        return int(payload[cls.counted_by]) if cls.counted_by else 0

    @classmethod
    def series_of(cls, payload: Json) -> tuple[str, int]:
        """What it is counted up in."""
        return cls.kind, payload[cls.side_by_side] if cls.side_by_side else 0


_LOADERS: list[Callable[[], Iterable[ModuleType]]] = []


def register(load: Callable[[], Iterable[ModuleType]]) -> None:
    """Add the classes of modules; they are imported when the first event is looked at."""
    _LOADERS.append(load)
    kinds.cache_clear()


@cache
def kinds() -> Mapping[str, type[JournalEvent]]:
    """All classes by the name of their kind."""
    found: dict[str, type[JournalEvent]] = {}
    for module in chain.from_iterable(load() for load in _LOADERS):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, JournalEvent) and "kind" in vars(value):
                found[value.kind] = value
    return found


def replaced() -> list[str]:
    """Kinds of which only the newest event of a run still says something."""
    return [name for name, kind in kinds().items() if kind.replaced]


def line(kind: str, payload: Json) -> str:
    """An event for the shell; "" for those that only pictures need."""
    known = kinds().get(kind)
    return "" if known is None else known.line(payload)
