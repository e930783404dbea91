"""One declaration per event: a frozen class with its stored name, its fields, what a journal does with it.

A class lies where it is emitted; here are those of runs of every kind. Its fields are what is stored:
pydantic writes them as JSON and checks them where an archive brings them. `formats.journal_events` finds the
class of a stored name.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import AfterValidator, ConfigDict, Field, GetPydanticSchema, TypeAdapter
from pydantic_core import core_schema

from inference.core.mapping import R_MAX_RANGE

Payload = dict[str, Any]

declared: dict[str, type[Event]] = {}
"""The classes that have been imported, by their stored names."""

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Amount = Annotated[float, Field(ge=0, le=1e15)]
"""Cycles, seconds, fractions, means of counts."""
Signed = Annotated[float, Field(ge=-1e15, le=1e15)]
Mask = Annotated[int, Field(ge=0, le=2**62)]
RMax = Annotated[float, Field(ge=R_MAX_RANGE[0], le=R_MAX_RANGE[1])]
Uop = tuple[Annotated[int, Field(ge=1, le=2**62)], Count]

OMIT_NONE = Field(exclude_if=lambda value: value is None)
OMIT_EMPTY = Field(exclude_if=operator.not_)
"""The key of a field is left out where its value is None, or empty."""


def one_of(values: Sequence[str]) -> AfterValidator:
    """That a text is among these."""

    def check(value: str) -> str:
        if value not in values:
            raise ValueError(f"{value[:80]!r} is none of {', '.join(map(repr, values))}")
        return value

    return AfterValidator(check)


def stored_as(shape: Any, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> GetPydanticSchema:
    """A value that is stored as what `write` makes of it, and read from a checked `shape`."""
    writing = core_schema.plain_serializer_function_ser_schema(write)
    return GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(
            read, handler.generate_schema(shape), serialization=writing
        )
    )


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


@dataclass(frozen=True)
class PhaseStarted(Event):
    """A stage begins; `index` counts from 1, `labels` are those of all stages in order.

    `busy`: seconds that the run has been worked on by then; journals of early versions lack it.
    """

    kind = "phase"
    counted_by = "index"
    at_once = True
    name: str
    index: Annotated[int, Field(ge=1)]
    labels: Sequence[str]
    busy: Annotated[Amount | None, OMIT_NONE] = None

    @property
    def label(self) -> str:
        return self.labels[self.index - 1]

    def line(self) -> str:
        """Which of how many, and its label."""
        return f"[{self.index}/{len(self.labels)}] {self.label}"


@dataclass(frozen=True)
class Progress(Event):
    """How far the stage is; `rate` in units per second, `eta` in seconds, None for what nobody knows."""

    kind = "progress"
    replaced = True
    phase: str
    done: Count | Amount
    total: Count | Amount | None
    rate: Amount
    unit: str
    eta: Amount | None

    def line(self) -> str:
        """Done of all, how fast, and what is left."""
        eta = "" if self.eta is None else f", {self.eta:.0f} s to go"
        pace = rate_in_words(self.rate, self.unit)
        return f"  {self.done} of {self.total}{f', {pace}' if pace else ''}{eta}"


@dataclass(frozen=True)
class Log(Event):
    """A sentence for the reader; level is "info" or "warning"."""

    kind = "log"
    at_once = True
    level: str
    text: str

    def line(self) -> str:
        return f"  {self.text}"


@dataclass(frozen=True)
class ExperimentsCounted(Event):
    """Answers so far by `MeasurementState`.

    `unsettled` and `contended` are None where a checkpoint has forgotten the states: then `failed` are all
    answers that cannot be used, and the payload has no other state.
    """

    kind = "experiments"
    replaced = True
    asked: Count
    settled: Count
    unsettled: Annotated[Count | None, OMIT_NONE] = None
    contended: Annotated[Count | None, OMIT_NONE] = None
    failed: Count = 0


@dataclass(frozen=True)
class WaitChanged(Event):
    """What the run waits for; "" for nothing."""

    kind = "waiting"
    text: str


@dataclass(frozen=True)
class StateChanged(Event):
    """The run's state has changed; `versions` of the software that does the run from now on."""

    kind = "state"
    state: str
    error: Annotated[str, OMIT_EMPTY] = ""
    versions: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultStored(Event):
    """What came of the run: facts that each kind of run chooses, most have the `name` of what was made."""

    kind = "result"
    facts: Payload

    def payload(self) -> Payload:
        return self.facts

    @classmethod
    def read(cls, payload: Payload, *, strict: bool = False) -> Self:
        """Nothing to check: pages show of it only what they find."""
        del strict
        return cls(payload)


_PLURAL = re.compile(r"^(\S*(?:[cs]h|[sx]))es\b|^(\S+?)s\b")


def _one(unit: str) -> str:
    """Of searches a search, of "mappings of a generation" a "mapping of a generation"."""
    return _PLURAL.sub(r"\1\2", unit)


def rate_in_words(per_second: float, unit: str) -> str:
    """As people say it: many `unit` (in the plural) per second, or seconds for each; "" for none."""
    if not per_second:
        return ""
    if per_second < 1:
        return f"{1 / per_second:.3g} s per {_one(unit)}"
    return f"{per_second:.3g} {unit} per second"
