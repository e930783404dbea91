"""Rows as JSON objects and back, by the types of their fields.

Numbers without end are written as the text "infinite", bytes in hexadecimal digits, times in ISO 8601.
"""

from __future__ import annotations

import math
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from inference.core.events import adapter
from inference.core.protocols import Json

INFINITE = "infinite"
_TOO_MUCH = 1e300


class ArchivedRow:
    """A dataclass of which documents have every field, of the exact type, and no other."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_complete(cls, document: Any) -> Any:
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # each subclass is a dataclass
        if isinstance(document, dict) and (missing := [name for name in names if name not in document]):
            raise ValueError(f"the field {missing[0]!r} is missing")
        return document


def document_of(row: ArchivedRow, isa: str = "") -> Json:
    """All fields of a row, in their order; `isa`: the instruction set of its blocks."""
    document: Json = adapter(type(row)).dump_python(row, context=isa, warnings=False)
    return document


def shaped(shape: Any) -> AfterValidator:
    """That a JSON object has this shape; it stays an object."""

    def check(document: Json, info: ValidationInfo) -> Json:
        adapter(shape).validate_python(document, context=info.context)
        return document

    return AfterValidator(check)


def _number(raw: Any, check: ValidatorFunctionWrapHandler) -> float:
    if raw == INFINITE:
        return math.inf
    number: float = check(raw)
    if not abs(number) < _TOO_MUCH:
        raise ValueError(f"{number} is more than belongs here")
    return number


def _bytes(raw: Any) -> bytes:
    try:
        return bytes.fromhex(raw)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{str(raw)[:60]!r} is not in hexadecimal digits") from error


def _time(raw: Any) -> datetime:
    try:
        time = datetime.fromisoformat(raw)
    except (TypeError, ValueError):
        time = None
    if time is None or time.tzinfo is None:
        raise ValueError(f"{str(raw)[:60]!r} is no time like 2026-01-31T12:00:00+00:00")
    return time


Number = Annotated[
    float,
    WrapValidator(_number),
    PlainSerializer(lambda number: INFINITE if math.isinf(number) else number),
]
HexBytes = Annotated[bytes, BeforeValidator(_bytes), PlainSerializer(bytes.hex)]
Time = Annotated[
    datetime | None, BeforeValidator(_time), PlainSerializer(lambda time: time and time.isoformat())
]
"""None before it is known; files have one."""
