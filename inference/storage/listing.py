"""Errors by length and by scheme as plain data, as rows store them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from inference.core.metrics import LengthError, SchemeError


def lengths_json(errors: Iterable[LengthError]) -> list[tuple[int, int, float]]:
    """Plain data; `lengths_from` reads it back."""
    return [(error.length, error.n, error.mape) for error in errors]


def lengths_from(data: Iterable[Sequence[Any]]) -> tuple[LengthError, ...]:
    return tuple(LengthError(*entry) for entry in data)


def schemes_json(errors: Iterable[SchemeError]) -> list[tuple[str, int, float, float]]:
    """Plain data; `schemes_from` reads it back."""
    return [(error.scheme, error.n, error.signed, error.absolute) for error in errors]


def schemes_from(data: Iterable[Sequence[Any]]) -> tuple[SchemeError, ...]:
    return tuple(SchemeError(*entry) for entry in data)
