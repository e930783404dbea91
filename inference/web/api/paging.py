"""Pages of long lists: `limit` rows from a `cursor` on, which the answer before this one gave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from ninja import Schema
from pydantic import Field

from inference.runs.request import OneOf
from inference.web.api.errors import ProblemError
from inference.web.paging import Order, Page, is_cursor, page_in_memory, page_of

Item = TypeVar("Item")
Row = TypeVar("Row", bound=Model)
MOST = 1000


class Paging(Schema):
    """Which part of a list."""

    limit: int = Field(100, ge=1, le=MOST, description="Rows of one answer at most.", examples=[50])
    cursor: str = Field(
        "", max_length=2000, description="`next` or `previous` of another answer; empty for the first page."
    )


class PageOf(Schema, Generic[Item]):
    """Part of a list. `next` and `previous` are cursors of the parts beside it, null at an end."""

    items: list[Item]
    total: int = Field(examples=[1], description="Rows of the whole list.")
    next: str | None = Field(None, examples=[None])
    previous: str | None = Field(None, examples=[None])


def sorts(columns: Iterable[str]) -> OneOf:
    """What a `sort` parameter may be: each column, descending with a minus before it."""
    return OneOf(f"{sign}{column}" for column in columns for sign in ("", "-"))


def listed(
    rows: QuerySet[Row],
    columns: Mapping[str, str],
    sort: str,
    paging: Paging,
    shape: Callable[[Sequence[Row]], Sequence[Any]],
) -> dict[str, Any]:
    """A page of a query as an answer. `shape` turns its rows into what the answer holds."""
    check_cursor(paging)
    order = Order.of(sort)
    found = page_of(rows, order, columns, paging.cursor, paging.limit)
    return page_json(found, shape(found.rows))


def check_cursor(paging: Paging) -> None:
    """Raise `ProblemError` (422) for what no page could have given."""
    if paging.cursor and not is_cursor(paging.cursor):
        raise _unreadable(paging.cursor)


def listed_in_memory(
    rows: Sequence[Item], paging: Paging, shape: Callable[[Sequence[Item]], Sequence[Any]]
) -> dict[str, Any]:
    """The same of a list that is at hand. Its cursors are numbers of pages of this size."""
    found = page_in_memory(rows, number_of_page(paging), paging.limit)
    return page_json(found, shape(found.rows))


def number_of_page(paging: Paging) -> int:
    """Of a list that is at hand, which page is asked for, from 0. Raises `ProblemError` (422)."""
    number = int(paging.cursor) if paging.cursor.isdecimal() and len(paging.cursor) < 10 else 0
    if paging.cursor and str(number) != paging.cursor:
        raise _unreadable(paging.cursor)
    return number


def page_json(found: Page[Any], items: Sequence[Any]) -> dict[str, Any]:
    """A page as `PageOf`, with what became of its rows."""
    return {
        "items": items,
        "total": found.total,
        "next": found.next_cursor,
        "previous": found.previous_cursor,
    }


def _unreadable(cursor: str) -> ProblemError:
    return ProblemError(
        422,
        f"{cursor[:40]!r} is no cursor",
        where="query cursor",
        right="`next` or `previous` of an answer to the same request, or none",
    )
