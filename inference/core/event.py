"""One declaration per event: a frozen class with its stored name, its fields, what a journal does with it.

A class lies where it is emitted. Its fields are what is stored: pydantic writes them as JSON and checks them
where an archive brings them. `formats.journal_events` finds the class of a stored name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self, cast

from pydantic import ConfigDict, TypeAdapter

Payload = dict[str, Any]

declared: dict[str, type[Event]] = {}
"""The classes that have been imported, by their stored names."""


@dataclass(frozen=True)
class Event:
    """Something that happened in a run. Archives may have more fields than a class, of the same exact types.

    `kind`: the stored name; "" for what is only heard in the same process. `replaced`: only the newest of a
    run still says something, and an archive may have emptied the others. `counted_by`: the field that counts
    such events up, in a run or, `side_by_side`, for each value of another field. `once`: a run has one of
    them. A search that was taken up again from a checkpoint emits those that are counted, or once in a run,
    a second time, and the journal leaves that out. `at_once`: rare and before what may take long, so it does
    not wait for a later event to be written. `point`: one of the many of a curve, which some of them show as
    well. `bulky`: emptied in the database as soon as a newer one is there.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    kind: ClassVar[str] = ""
    replaced: ClassVar[bool] = False
    counted_by: ClassVar[str] = ""
    side_by_side: ClassVar[str] = ""
    once: ClassVar[bool] = False
    at_once: ClassVar[bool] = False
    point: ClassVar[bool] = False
    bulky: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Declare the class under its name. Raises `TypeError` where another class has that name."""
        if not cls.kind:
            return
        before = declared.setdefault(cls.kind, cls)
        if before is not cls:
            raise TypeError(f"event {cls.kind!r} is declared by {before.__qualname__} and {cls.__qualname__}")

    def payload(self) -> Payload:
        """The fields as plain JSON data."""
        payload: Payload = adapter(type(self)).dump_python(self, mode="json", warnings=False)
        return payload

    @property
    def entry(self) -> tuple[str, Payload]:
        """Name and payload, as the journal stores them."""
        return self.kind, self.payload()

    @classmethod
    def read(cls, payload: Payload, *, strict: bool = False) -> Self:
        """The event of a stored payload.

        Args:
            payload: of JSON.
            strict: whether each value must have the exact type, as in archives. Four times as slow: only JSON
                is strict about types and has no tuples.

        Raises:
            ValidationError: pages and reports could not show it.
        """
        if strict:
            return cast("Self", adapter(cls).validate_json(json.dumps(payload)))
        return cast("Self", adapter(cls).validate_python(payload, strict=False))

    def line(self) -> str:
        """The event in a line of the shell; "" where only pictures need it."""
        return ""

    @classmethod
    def is_numbered(cls) -> bool:
        """Whether the journal takes each only once."""
        return cls.once or bool(cls.counted_by)

    @property
    def position(self) -> int:
        """The number in its series; 0 for all where `once`."""
        return int(getattr(self, self.counted_by)) if self.counted_by else 0

    @property
    def series(self) -> tuple[str, int]:
        """The name, and the value of the field that events are counted side by side for."""
        return self.kind, getattr(self, self.side_by_side) if self.side_by_side else 0


adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
"""Between JSON and values of a class, made when it is first needed."""
