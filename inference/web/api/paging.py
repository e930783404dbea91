"""Pages of long lists in API answers: `limit` rows after a `cursor` of an earlier answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from ninja import Schema
from pydantic import Field

from inference.runs.request import AllowedTexts
from inference.web.api.errors import ProblemError
from inference.web.paging import Order, Page, is_cursor, page_in_memory, page_of

Item = TypeVar("Item")
Row = TypeVar("Row", bound=Model)
MAX_LIMIT = 1000


class Paging(Schema):
    """Selects a page of a list."""

    limit: int = Field(
        100, ge=1, le=MAX_LIMIT, description="Largest number of rows in one answer.", examples=[50]
    )
    cursor: str = Field(
        "", max_length=2000, description="`next` or `previous` of another answer; empty for the first page."
    )


class PageOf(Schema, Generic[Item]):
    """A page of a list. `next` and `previous` are cursors of the adjacent pages; null at the ends."""

    items: list[Item]
    total: int = Field(examples=[1], description="Number of rows of the whole list.")
    next: str | None = Field(None, examples=[None])
    previous: str | None = Field(None, examples=[None])


def allowed_sorts(columns: Iterable[str]) -> AllowedTexts:
    """Allowed values of a `sort` parameter: each column, with a leading minus for descending order."""
    return AllowedTexts(f"{sign}{column}" for column in columns for sign in ("", "-"))


def list_answer(
    rows: QuerySet[Row],
    columns: Mapping[str, str],
    sort: str,
    paging: Paging,
    shape: Callable[[Sequence[Row]], Sequence[Any]],
) -> dict[str, Any]:
    """A page of a query as an answer.

    Args:
        rows: The query.
        columns: {name in `sort`: field}.
        sort: Column, with a leading minus for descending order.
        paging: Cursor and limit of the request.
        shape: Converts the page's rows into items of the answer.

    Raises:
        ProblemError: 422 for a malformed cursor.
    """
    check_cursor(paging)
    order = Order.of(sort)
    page = page_of(rows, order, columns, paging.cursor, paging.limit)
    return page_json(page, shape(page.rows))


def check_cursor(paging: Paging) -> None:
    """Raise `ProblemError` (422) for a cursor that no answer can contain."""
    if paging.cursor and not is_cursor(paging.cursor):
        raise _unreadable(paging.cursor)


def list_answer_in_memory(
    rows: Sequence[Item], paging: Paging, shape: Callable[[Sequence[Item]], Sequence[Any]]
) -> dict[str, Any]:
    """A page of a list in memory as an answer; its cursors are numbers of pages of this size."""
    page = page_in_memory(rows, page_number(paging), paging.limit)
    return page_json(page, shape(page.rows))


def page_number(paging: Paging) -> int:
    """Number of the requested page of a list in memory, from 0. Raises `ProblemError` (422)."""
    number = int(paging.cursor) if paging.cursor.isdecimal() and len(paging.cursor) < 10 else 0
    if paging.cursor and str(number) != paging.cursor:
        raise _unreadable(paging.cursor)
    return number


def page_json(page: Page[Any], items: Sequence[Any]) -> dict[str, Any]:
    """A page in the shape of `PageOf`, with the converted rows `items`."""
    return {
        "items": items,
        "total": page.total,
        "next": page.next_cursor,
        "previous": page.previous_cursor,
    }


def _unreadable(cursor: str) -> ProblemError:
    return ProblemError(
        422,
        f"{cursor[:40]!r} is no cursor",
        where="query cursor",
        right="`next` or `previous` of an answer to the same request, or none",
    )
