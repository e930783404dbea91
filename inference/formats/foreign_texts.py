"""The texts of a document from elsewhere: names are lines, all else may have several of them.

What is written for others is put right by the same rule, so that it reads again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from inference.core.texts import check_line, check_paragraphs, one_line, paragraphs

NAMING = frozenset(
    {
        *("name", "isa", "cpu", "source", "kind", "label", "title", "format", "made_by"),
        *("scheme", "blocker", "port", "ports", "members", "computer", "file_name", "path"),
    }
)
"""Keys of a document below which texts are names; the keys themselves are names everywhere."""

IsLine = Callable[[str], bool]


def is_naming(key: str) -> bool:
    """Whether the texts below a key are names."""
    return key in NAMING


def check_texts(value: Any, place: str, is_line: IsLine = is_naming) -> None:
    """Raise `ValueError` with the place of the first text that is not as it should be.

    Args:
        value: of JSON, of bounded depth.
        place: what messages call it.
        is_line: whether the texts below a key are single lines.
    """
    _check(value, place, is_line, line=False)


def _check(value: Any, place: str, is_line: IsLine, *, line: bool) -> None:
    if isinstance(value, str):
        if not value.isprintable():
            _check_text(value, place, check_line if line else check_paragraphs)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if not key.isprintable():
                _check_text(key, f"{place}, a key", check_line)
            _check(entry, f"{place}, {key[:80]}", is_line, line=line or is_line(key))
    elif isinstance(value, list):
        for entry in value:
            _check(entry, place, is_line, line=line)


def _check_text(text: str, place: str, check: Callable[[str], str]) -> None:
    try:
        check(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def clean_texts(value: Any, is_line: IsLine = is_naming) -> Any:
    """A value of JSON in which every text passes `check_texts`."""
    return _clean(value, is_line, line=False)


def _clean(value: Any, is_line: IsLine, *, line: bool) -> Any:
    if isinstance(value, str):
        return value if value.isprintable() else one_line(value) if line else paragraphs(value)
    if isinstance(value, dict):
        return {
            key if key.isprintable() else one_line(key): _clean(entry, is_line, line=line or is_line(key))
            for key, entry in value.items()
        }
    return [_clean(entry, is_line, line=line) for entry in value] if isinstance(value, list) else value
