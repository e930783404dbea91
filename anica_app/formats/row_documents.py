"""Rows of AnICA's tables as JSON objects and back, field by field.

Numbers without end are written as the text "infinite", bytes in hexadecimal digits, times in ISO 8601. What
is read is checked by the fields themselves: types, lengths, choices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Field
from django.utils.dateparse import parse_datetime

from inference.core.protocols import Json
from inference.formats.errors import ExchangeError

INFINITE = "infinite"

Row = TypeVar("Row", bound=models.Model)


def row_document(row: models.Model, fields: Sequence[str]) -> Json:
    """These fields of a row."""
    return {name: _written(getattr(row, name), row._meta.get_field(name)) for name in fields}


def read_row(given: Any, row: Row, fields: Sequence[str], where: str) -> Row:
    """Fill the fields of a new row from `row_document`. Raises `ExchangeError` naming the field.

    Foreign keys are set by the caller, before or after.
    """
    if not isinstance(given, dict):
        raise ExchangeError(f"{where}: an object is expected, not {str(given)[:60]!r}")
    if strange := sorted(given.keys() - set(fields)):
        raise ExchangeError(f"{where}: there is no field {strange[0]!r} here, only {', '.join(fields)}")
    for name in fields:
        if name not in given:
            raise ExchangeError(f"{where}: the field {name!r} is missing")
        setattr(
            row,
            name,
            _read(given[name], cast("Field[Any, Any]", row._meta.get_field(name)), f"{where}, {name}"),
        )
    others = [field.name for field in row._meta.fields if field.name not in fields]
    try:
        row.clean_fields(exclude=others)
    except ValidationError as error:
        name, complaints = next(iter(error.message_dict.items()))
        raise ExchangeError(f"{where}, {name}: {' '.join(complaints)}") from error
    return row


def _written(value: Any, field: Any) -> Any:
    if isinstance(field, models.FloatField) and value is not None:
        return INFINITE if math.isinf(value) else float(value)
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    return value.isoformat() if isinstance(value, datetime) else value


def _read(value: Any, field: models.Field[Any, Any], where: str) -> Any:
    """A value of the sort that the field holds; a text for a number, say, is refused."""
    if value is None and field.null:
        return None
    match field:
        case models.FloatField():
            if value == INFINITE:
                return math.inf
            fits = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
        case models.BooleanField():
            fits = isinstance(value, bool)
        case models.IntegerField():
            fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31
        case models.BinaryField():
            return _bytes(value, where)
        case models.DateTimeField():
            return _time(value, where)
        case models.JSONField():
            return value
        case _:
            fits = isinstance(value, str)
    if not fits:
        raise ExchangeError(f"{where}: {str(value)[:60]!r} is nothing that belongs here")
    return value


def _bytes(value: Any, where: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError) as error:
        raise ExchangeError(f"{where}: {str(value)[:60]!r} is not in hexadecimal digits") from error


def _time(value: Any, where: str) -> datetime:
    try:
        found = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ExchangeError(f"{where}: {str(value)[:60]!r} is no time like 2026-01-31T12:00:00+00:00")
    return found
