"""Reads and validates fields of JSON messages; errors name the field."""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

Json = dict[str, Any]
Value = TypeVar("Value")


class ProtocolError(ValueError):
    """An invalid message; the text has the reason."""


def read_fields(cls: type[Value], document: object, **special: Callable[[str, Any], Any]) -> Value:
    """Make a dataclass from a JSON object.

    Args:
        cls: The dataclass; fields without a special reader are read by their annotation.
        document: The object.
        special: {field: reader}, called with the field's name and value.

    Raises:
        ProtocolError: The object has unknown, missing or invalid fields.
    """
    if not isinstance(document, Mapping):
        raise ProtocolError(f"{cls.__name__}: an object is expected, not {document!r:.80}")
    field_types = {entry.name: str(entry.type) for entry in fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(document.keys() - field_types.keys())
    if unknown:
        raise ProtocolError(f"{cls.__name__}: unknown field {unknown[0]!r:.80}")
    values = {}
    for name, value in document.items():
        reader = special.get(name)
        values[name] = (reader or _PLAIN[field_types[name]])(name, value)
    try:
        return cls(**values)
    except TypeError as error:  # a field without a default is missing
        raise ProtocolError(f"{cls.__name__}: {error}") from None


def check_ranges(read: Value, limits: Mapping[str, tuple[float, float]]) -> Value:
    """Return `read` if the named fields are within their limits. Raises `ProtocolError` otherwise."""
    for name, (least, most) in limits.items():
        if not least <= (value := getattr(read, name)) <= most:
            raise ProtocolError(f"{name} must be between {least:g} and {most:g}, not {value!r:.80}")
    return read


def read_json(text: str, limit: int) -> Any:
    """Parse JSON with at most `limit` values and keys.

    Raises `ValueError` for invalid JSON, repeated keys (of which readers might use different ones), NaN and
    infinities, and `RecursionError`.
    """
    if has_more_values(text, limit):
        raise ProtocolError(f"there are more than {limit:,} values and keys, the most that are read")
    return json.loads(text, parse_constant=_no_number, object_pairs_hook=_distinct_keys)


def has_more_values(text: str, limit: int) -> bool:
    """Whether a JSON text has more than `limit` values and keys, each of which takes 100 bytes of memory.

    Counts without parsing: each value but the first follows one of four characters outside of strings.
    """
    if _beginnings(text) <= limit:
        return False
    plain = text.replace("\\\\", "").replace('\\"', "")
    return plain.count('"') > 2 * limit or _beginnings("".join(plain.split('"')[::2])) > limit


def _beginnings(text: str) -> int:
    return sum(map(text.count, ",:[{"))


def _distinct_keys(pairs: list[tuple[str, Any]]) -> Json:
    distinct = dict(pairs)
    if len(distinct) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ProtocolError(f"an object has the key {counts.most_common(1)[0][0][:60]!r} more than once")
    return distinct


def _no_number(text: str) -> float:
    raise ProtocolError(f"{text} is no number in JSON")


def text_of(name: str, value: object) -> str:
    """Text that any database can hold. Raises `ProtocolError`."""
    if not isinstance(value, str):
        raise ProtocolError(f"{name} must be text, not {value!r:.80}")
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise ProtocolError(f"{name} must be whole characters without NUL, not {value[:60]!a}")
    return value


def int_of(name: str, value: object) -> int:
    """A whole number of 64 bits. Raises `ProtocolError`."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**64:
        raise ProtocolError(f"{name} must be a whole number, not {value!r:.80}")
    return value


def number_of(name: str, value: object) -> float:
    """A finite number. Raises `ProtocolError`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # a whole number may be too large
            number = float(value)
            if math.isfinite(number):
                return number
    raise ProtocolError(f"{name} must be a finite number, not {value!r:.80}")


def bool_of(name: str, value: object) -> bool:
    """True or false. Raises `ProtocolError`."""
    if not isinstance(value, bool):
        raise ProtocolError(f"{name} must be true or false, not {value!r:.80}")
    return value


def number_or_none(name: str, value: object) -> float | None:
    """A finite number, or none. Raises `ProtocolError`."""
    return None if value is None else number_of(name, value)


def int_or_none(name: str, value: object) -> int | None:
    """A whole number, or none. Raises `ProtocolError`."""
    return None if value is None else int_of(name, value)


_PLAIN: dict[str, Callable[[str, Any], Any]] = {
    "str": text_of,
    "int": int_of,
    "float": number_of,
    "bool": bool_of,
}
