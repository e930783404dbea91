"""Events: frozen classes with their stored names, their fields, and how a journal treats them.

A class is defined where it is emitted; here are the events of runs of every kind. Its fields are what is
stored: pydantic writes them as JSON and checks them when an archive is imported. `formats.journal_events`
finds the class of a stored name.
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
"""{stored name: class} of all classes that have been imported."""

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]  # a whole number ≥ 0 that fits a column of the database
Amount = Annotated[float, Field(ge=0, le=1e15)]
"""Cycles, seconds, shares, means of counts."""

Signed = Annotated[float, Field(ge=-1e15, le=1e15)]
Mask = Annotated[int, Field(ge=0, le=2**62)]  # a port set, one bit per port
RMax = Annotated[float, Field(ge=R_MAX_RANGE[0], le=R_MAX_RANGE[1])]  # instructions per cycle
Uop = tuple[Annotated[int, Field(ge=1, le=2**62)], Count]  # (port set, number of µops)

OMIT_NONE = Field(exclude_if=lambda value: value is None)
OMIT_EMPTY = Field(exclude_if=operator.not_)
"""The key of such a field is left out where its value is None, or empty."""


def choice_validator(values: Sequence[str]) -> AfterValidator:
    """A pydantic validator that accepts only these texts."""

    def check(value: str) -> str:
        if value not in values:
            raise ValueError(f"{value[:80]!r} is none of {', '.join(map(repr, values))}")
        return value

    return AfterValidator(check)


def stored_as(shape: Any, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> GetPydanticSchema:
    """A type for fields that are stored in another form.

    Args:
        shape: Type of the stored form, which is checked when an event is read.
        write: Makes the stored form of a value.
        read: Makes the value of a checked stored form.
    """
    writing = core_schema.plain_serializer_function_ser_schema(write)
    return GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(
            read, handler.generate_schema(shape), serialization=writing
        )
    )


@dataclass(frozen=True)
class Event:
    """Something that happened in a run.

    An archive may have further fields; known ones must have the exact types.

    Attributes:
        kind: The stored name; "" for events that stay within the process.
        replaced: Only the newest of a run is of use, and an archive may have emptied the others.
        counted_by: The field that numbers such events within a run or, with `side_by_side`, for each value
            of another field.
        once: A run has at most one. A search that resumes from a checkpoint emits events that are numbered,
            or occur once, a second time; the journal drops the repeats.
        at_once: Written immediately, because it is rare and a long wait may follow.
        point: One of many points of a curve, of which some suffice.
        bulky: Emptied in the database as soon as a newer one is stored.
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
            payload: Plain JSON.
            strict: Whether each value must have the exact type, as in archives. Four times as slow, because
                only JSON is strict about types and has no tuples.

        Raises:
            ValidationError: For a payload that pages and reports could not show.
        """
        if strict:
            return cast("Self", adapter(cls).validate_json(json.dumps(payload)))
        return cast("Self", adapter(cls).validate_python(payload, strict=False))

    def line(self) -> str:
        """The event as a line of the shell; "" for events that only plots need."""
        return ""

    @classmethod
    def is_numbered(cls) -> bool:
        """Whether the journal stores each only once."""
        return cls.once or bool(cls.counted_by)

    @property
    def position(self) -> int:
        """The number within its series; 0 for all where `once`."""
        return int(getattr(self, self.counted_by)) if self.counted_by else 0

    @property
    def series(self) -> tuple[str, int]:
        """The event's name, and the value of the `side_by_side` field, 0 without one."""
        return self.kind, getattr(self, self.side_by_side) if self.side_by_side else 0


adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
"""Converts between JSON and values of a class; cached."""


@dataclass(frozen=True)
class PhaseStarted(Event):
    """A stage begins; `index` counts from 1, `labels` are those of all stages in order.

    `busy`: seconds of work on the run until then; journals of early versions lack it.
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
        """Number and label of the stage."""
        return f"[{self.index}/{len(self.labels)}] {self.label}"


@dataclass(frozen=True)
class Progress(Event):
    """Progress of a stage; `rate` in units per second, `eta` in seconds; None for unknown numbers."""

    kind = "progress"
    replaced = True
    phase: str
    done: Count | Amount
    total: Count | Amount | None
    rate: Amount
    unit: str
    eta: Amount | None

    def line(self) -> str:
        """Done and total, rate, and remaining time."""
        eta = "" if self.eta is None else f", {self.eta:.0f} s to go"
        pace = rate_text(self.rate, self.unit)
        return f"  {self.done} of {self.total}{f', {pace}' if pace else ''}{eta}"


@dataclass(frozen=True)
class Log(Event):
    """A sentence for the reader; `level` is "info" or "warning"."""

    kind = "log"
    at_once = True
    level: str
    text: str

    def line(self) -> str:
        return f"  {self.text}"


@dataclass(frozen=True)
class ExperimentsCounted(Event):
    """Numbers of results so far by `MeasurementState`; `asked` is their sum.

    `unsettled` and `contended` are None where a checkpoint has lost the states: then `failed` are all results
    that cannot be used, and the payload has no other state.
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
    """The reason why the run waits; "" while it does not."""

    kind = "waiting"
    text: str


@dataclass(frozen=True)
class StateChanged(Event):
    """The run's state changed; `versions` of the software that executes the run from now on."""

    kind = "state"
    state: str
    error: Annotated[str, OMIT_EMPTY] = ""
    versions: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultStored(Event):
    """The result of the run: facts that each kind of run chooses, usually the `name` of what was created."""

    kind = "result"
    facts: Payload

    def payload(self) -> Payload:
        return self.facts

    @classmethod
    def read(cls, payload: Payload, *, strict: bool = False) -> Self:
        """Any payload: pages show the facts that they know."""
        del strict
        return cls(payload)


_PLURAL = re.compile(r"^(\S*(?:[cs]h|[sx]))es\b|^(\S+?)s\b")


def rate_text(per_second: float, unit: str) -> str:
    """`12 items per second`, or `3.5 s per item` for slow ones; "" for no rate. `unit`: a plural.

    >>> rate_text(0.5, "searches")
    '2 s per search'
    """
    if not per_second:
        return ""
    if per_second < 1:
        singular = _PLURAL.sub(r"\1\2", unit)  # of "mappings of a generation" a "mapping of a generation"
        return f"{1 / per_second:.3g} s per {singular}"
    return f"{per_second:.3g} {unit} per second"
