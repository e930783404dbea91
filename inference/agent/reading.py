"""Fields of JSON objects as values of Python, or a complaint that names the field."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

Json = dict[str, Any]
Value = TypeVar("Value")


class ProtocolError(ValueError):
    """A message that no peer of this protocol sends; the text says what is wrong with it."""


def read_fields(cls: type[Value], given: object, **special: Callable[[str, Any], Any]) -> Value:
    """A dataclass from a JSON object; what has no reader of its own is read by its annotation."""
    if not isinstance(given, Mapping):
        raise ProtocolError(f"{cls.__name__}: an object is expected, not {given!r:.80}")
    known = {entry.name: str(entry.type) for entry in fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise ProtocolError(f"{cls.__name__}: unknown field {unknown[0]!r:.80}")
    values = {}
    for name, value in given.items():
        reader = special.get(name)
        values[name] = (reader or _PLAIN[known[name]])(name, value)
    try:
        return cls(**values)
    except TypeError as error:  # a field without a default is missing
        raise ProtocolError(f"{cls.__name__}: {error}") from None


def within(read: Value, limits: Mapping[str, tuple[float, float]]) -> Value:
    """What has been read, where its numbers lie within their limits."""
    for name, (least, most) in limits.items():
        if not least <= (value := getattr(read, name)) <= most:
            raise ProtocolError(f"{name} must be between {least:g} and {most:g}, not {value!r:.80}")
    return read


def distinct_keys(pairs: list[tuple[str, Any]]) -> Json:
    """An object whose keys are different: of equal ones, readers could each take another."""
    if len(found := dict(pairs)) < len(pairs):
        raise ProtocolError("an object has the same key twice")
    return found


def no_number(text: str) -> float:
    """For `json`: NaN and infinities are none. Raises `ProtocolError`."""
    raise ProtocolError(f"{text} is no number in JSON")


def text_of(name: str, value: object) -> str:
    """Text that any database can hold. Raises `ProtocolError`."""
    if not isinstance(value, str):
        raise ProtocolError(f"{name} must be text, not {value!r:.80}")
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise ProtocolError(f"{name} must be whole characters without NUL, not {value[:60]!a}")
    return value


def whole_of(name: str, value: object) -> int:
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


def truth_of(name: str, value: object) -> bool:
    """True or false. Raises `ProtocolError`."""
    if not isinstance(value, bool):
        raise ProtocolError(f"{name} must be true or false, not {value!r:.80}")
    return value


def maybe_number(name: str, value: object) -> float | None:
    """A finite number, or none. Raises `ProtocolError`."""
    return None if value is None else number_of(name, value)


def maybe_whole(name: str, value: object) -> int | None:
    """A whole number, or none. Raises `ProtocolError`."""
    return None if value is None else whole_of(name, value)


_PLAIN: dict[str, Callable[[str, Any], Any]] = {
    "str": text_of,
    "int": whole_of,
    "float": number_of,
    "bool": truth_of,
}
