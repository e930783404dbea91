"""The texts of a document from elsewhere: names are lines, all else may have several of them.

What is written for others is put right by the same rule, so that it reads again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from inference.core.texts import check_line, check_paragraphs, is_line, one_line, paragraphs

NAMING = frozenset(
    {
        *("name", "isa", "cpu", "source", "kind", "label", "title", "format", "made_by"),
        *("scheme", "blocker", "port", "ports", "members", "computer", "file_name", "path"),
    }
)
"""Keys of a document below which texts are names; the keys themselves are names everywhere."""

IsName = Callable[[str], bool]


def is_naming(key: str) -> bool:
    """Whether the texts below a key are names."""
    return key in NAMING


def check_texts(value: Any, place: str, is_name: IsName = is_naming) -> None:
    """Raise `ValueError` with the place of the first text that is not as it should be.

    Args:
        value: of JSON, of bounded depth.
        place: what messages call it.
        is_name: whether the texts below a key are names.
    """
    _check(value, place, is_name, line=False)


def _check(value: Any, place: str, is_name: IsName, *, line: bool) -> None:
    if isinstance(value, str):
        if not value.isprintable():
            _check_text(value, place, check_line if line else check_paragraphs)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if not key.isprintable():
                _check_text(key, f"{place}, a key", check_line)
            _check(entry, f"{place}, {key[:80]}", is_name, line=line or is_name(key))
    elif isinstance(value, list):
        for entry in value:
            _check(entry, place, is_name, line=line)


def _check_text(text: str, place: str, check: Callable[[str], str]) -> None:
    try:
        check(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def clean_texts(value: Any, is_name: IsName = is_naming) -> Any:
    """A value of JSON in which every text passes `check_texts`."""
    return _clean(value, is_name, line=False)


def _clean(value: Any, is_name: IsName, *, line: bool) -> Any:
    if isinstance(value, str):
        return _clean_text(value, line=line)
    if isinstance(value, dict):
        return {
            _clean_text(key, line=True): _clean(entry, is_name, line=line or is_name(key))
            for key, entry in value.items()
        }
    return [_clean(entry, is_name, line=line) for entry in value] if isinstance(value, list) else value


def _clean_text(text: str, *, line: bool) -> str:
    return one_line(text) if line and not is_line(text) else paragraphs(text)
