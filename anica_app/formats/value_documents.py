"""Values as JSON objects and back, field by field.

Numbers without end are written as the text "infinite", bytes in hexadecimal digits, times in ISO 8601. What
is read is checked by the types of the fields: sorts of values, lengths, choices.
"""

from __future__ import annotations

import math
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from pydantic import BeforeValidator, TypeAdapter, ValidationError, WrapValidator

from inference.core.protocols import Json
from inference.formats.archived_parts import first_flaw
from inference.formats.errors import ExchangeError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import ValidatorFunctionWrapHandler

INFINITE = "infinite"
_TOO_MUCH = 1e300

Value = TypeVar("Value", bound="DataclassInstance")


def document_of(value: DataclassInstance) -> Json:
    """All fields of a value, in their order."""
    return {name: _written(content) for name, content in vars(value).items()}


def read_value(document: Any, shape: type[Value], where: str) -> Value:
    """Back from `document_of`. Raises `ExchangeError` naming the field."""
    names = [field.name for field in fields(shape)]
    if not isinstance(document, dict):
        raise ExchangeError(f"{where}: an object is expected, not {str(document)[:60]!r}")
    if strange := sorted(document.keys() - set(names)):
        raise ExchangeError(f"{where}: there is no field {strange[0]!r} here, only {', '.join(names)}")
    if missing := [name for name in names if name not in document]:
        raise ExchangeError(f"{where}: the field {missing[0]!r} is missing")
    checked = {}
    for name, adapter in _adapters(shape).items():
        try:
            checked[name] = adapter.validate_python(document[name], strict=True)
        except ValidationError as error:
            raise ExchangeError(first_flaw(error, f"{where}, {name}")) from error
    return shape(**checked)


@cache
def _adapters(shape: type[DataclassInstance]) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(shape, include_extras=True)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(shape)}


def _written(value: Any) -> Any:
    if isinstance(value, float):
        return INFINITE if math.isinf(value) else value
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime) else value


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


Number = Annotated[float, WrapValidator(_number)]
HexBytes = Annotated[bytes, BeforeValidator(_bytes)]
Time = Annotated[datetime | None, BeforeValidator(_time)]
"""None before it is known; files have one."""
