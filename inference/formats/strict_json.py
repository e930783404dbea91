"""JSON that every database here can store: without NaN, NUL, halves of characters, endless nesting."""

from __future__ import annotations

import math
from typing import Any

from inference.agent.reading import ProtocolError, read_json

DEEPEST = 100
"""Values in values."""


class StrictJsonError(ValueError):
    """What is wrong, and at which place in the document."""


def load(content: bytes | str, place: str, most: int) -> Any:
    """The value; `place` is what messages call the whole, `most` how many values and keys it may have.

    Raises `StrictJsonError`.
    """
    try:
        value = read_json(content.decode("utf-8-sig") if isinstance(content, bytes) else content, most)
    except ProtocolError as error:
        raise StrictJsonError(f"{place}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise StrictJsonError(f"{place} is no JSON in UTF-8: {str(error)[:200]}") from None
    check_value(value, place)
    return value


def _has_whole_characters(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_value(value: Any, place: str, depth: int = 0, *, finite: bool = True) -> None:
    """Raise `StrictJsonError` with the first place of what a database cannot hold.

    `finite`: numbers without end are refused.
    """
    if depth > DEEPEST:
        raise StrictJsonError(f"{place[:80]} is nested in more than {DEEPEST} levels")
    if isinstance(value, str):
        if "\0" in value or not _has_whole_characters(value):
            raise StrictJsonError(f"{place} has a NUL, or half of a character, where whole ones are expected")
    elif finite and isinstance(value, float) and not math.isfinite(value):
        raise StrictJsonError(f"{place} has a number beyond 1.8e308, which is the largest here")
    elif isinstance(value, dict):
        for key, entry in value.items():
            check_value(key, place, depth)
            check_value(entry, f"{place}, {key}"[:200], depth + 1, finite=finite)
    elif isinstance(value, list):
        for entry in value:
            check_value(entry, place, depth + 1, finite=finite)
