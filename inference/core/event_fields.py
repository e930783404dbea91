"""Types of events' fields: numbers within limits, and values that are stored in a shape of their own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, GetPydanticSchema
from pydantic_core import core_schema

from inference.core.mapping import R_MAX_RANGE

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
