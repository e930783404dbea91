"""JSON that every database here can store: without NaN, NUL, halves of characters, endless nesting."""

from __future__ import annotations

import json
import math
from typing import Any

DEEPEST = 100
"""Values in values."""


class StrictJsonError(ValueError):
    """What is wrong, and at which place in the document."""


def load(content: bytes | str, place: str, most: int | None = None) -> Any:
    """The value; `place` is what messages call the whole, `most` how many values it may have inside.

    Raises `StrictJsonError`.
    """
    if most is not None and values_in(content) > most:
        raise StrictJsonError(f"{place} has more than {most:,} values, the most that are read")
    try:
        value = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise StrictJsonError(f"{place} is no JSON in UTF-8: {str(error)[:200]}") from None
    _check(value, place, 0)
    return value


def values_in(content: bytes | str) -> int:
    """How many values a document has at most: each can take dozens of bytes of memory, short as it is."""
    marks = (b",", b"[", b"{") if isinstance(content, bytes) else (",", "[", "{")
    return sum(content.count(mark) for mark in marks)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _check(value: Any, place: str, depth: int) -> None:
    if depth > DEEPEST:
        raise StrictJsonError(f"{place[:80]} is nested in more than {DEEPEST} levels")
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise StrictJsonError(f"{place} has a NUL, or half of a character, where whole ones are expected")
    elif isinstance(value, float) and not math.isfinite(value):
        raise StrictJsonError(f"{place} has a number beyond 1.8e308, which is the largest here")
    elif isinstance(value, dict):
        for key, entry in value.items():
            _check(key, place, depth)
            _check(entry, f"{place}, {key}"[:200], depth + 1)
    elif isinstance(value, list):
        for entry in value:
            _check(entry, place, depth + 1)
