"""What pages read from their addresses, and numbers in what is posted to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from django.core.exceptions import BadRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest

RowT = TypeVar("RowT", bound=Model)


def whole_number(request: HttpRequest, name: str, default: int | None = None) -> int | None:
    """Return the whole number under `name`, or the default; anything else is a bad request."""
    text = request.GET.get(name, "")
    return as_whole_number(text, name) if text else default


def as_whole_number(text: str, name: str) -> int:
    """Return the whole number that was given under `name`; anything else is a bad request."""
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise BadRequest(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def row_named(request: HttpRequest, name: str, rows: QuerySet[RowT]) -> RowT | None:
    """Return the row whose number is under `name`; None where there is no number, or no such row."""
    number = whole_number(request, name)
    return None if number is None else rows.filter(pk=number).first()


def one_of(request: HttpRequest, name: str, allowed: tuple[str, ...], default: str = "") -> str:
    """Return the value under `name` if it is one of `allowed`, `default` where there is none."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if text not in allowed:
        raise BadRequest(f"{name} must be one of {', '.join(filter(None, allowed))}, not {text[:40]!r}")
    return text


def chosen_bin(request: HttpRequest, bins: int) -> tuple[int, int] | None:
    """Return the bin of a heat map under `bin`, as `row,column`; None where there is none."""
    text = request.GET.get("bin", "")
    if not text:
        return None
    row, _, column = text.partition(",")
    if not all(part.isdecimal() and len(part) < 10 and int(part) < bins for part in (row, column)):
        raise BadRequest(f"bin must be two numbers below {bins}, not {text[:40]!r}")
    return int(row), int(column)


def row_number(text: str) -> int | None:
    """The number of a database's row that a text is; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def row_numbers(texts: Iterable[str]) -> list[int]:
    """Those of these texts that are numbers of rows."""
    return [number for text in texts if (number := row_number(text)) is not None]
