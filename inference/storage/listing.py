"""Converts errors by length and by scheme to the JSON in rows, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from inference.core.metrics import LengthError, SchemeError


def lengths_json(errors: Iterable[LengthError]) -> list[tuple[int, int, float]]:
    """(length, n, MAPE) tuples; `lengths_from` is the inverse."""
    return [(error.length, error.n, error.mape) for error in errors]


def lengths_from(data: Iterable[Sequence[Any]]) -> tuple[LengthError, ...]:
    return tuple(LengthError(*entry) for entry in data)


def schemes_json(errors: Iterable[SchemeError]) -> list[tuple[str, int, float, float]]:
    """(scheme, n, signed error, absolute error) tuples; `schemes_from` is the inverse."""
    return [(error.scheme, error.n, error.signed, error.absolute) for error in errors]


def schemes_from(data: Iterable[Sequence[Any]]) -> tuple[SchemeError, ...]:
    return tuple(SchemeError(*entry) for entry in data)
