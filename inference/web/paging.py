"""Keyset pagination: page 500 costs as much as page 1, and no row appears twice.

A cursor has the sort value and id of a row, and the direction from there. It comes from the address, so it
may be malformed: then it is ignored.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from inference.models.named import Named
from inference.storage.names import kind_of

Row = TypeVar("Row")
ModelRow = TypeVar("ModelRow", bound=Model)
PAGE_SIZE = 100
_LIMIT = 2**63  # columns hold numbers of 64 bits


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows of one page, cursors of the adjacent pages (None at the ends), and the total number of rows.

    `more`: there are more rows than `total`, where the count was limited.
    """

    rows: Sequence[Row]
    total: int
    next_cursor: str | None = None
    previous_cursor: str | None = None
    more: bool = False


@dataclass(frozen=True)
class Order:
    """A sort order: a column of the table, ascending unless `descending`.

    In addresses it is the column's name, with a leading minus for descending.
    """

    column: str
    descending: bool = False

    @classmethod
    def of(cls, text: str) -> Order:
        """Parse a text of an address; the column is not validated.

        >>> Order.of("-name")
        Order(column='name', descending=True)
        """
        return cls(text.removeprefix("-"), text.startswith("-"))

    @classmethod
    def read(cls, text: str, columns: Mapping[str, str], default: str) -> Order:
        """The order of a query parameter; `default` if its column is not among `columns`."""
        for candidate in (text, default):
            order = cls.of(candidate)
            if order.column in columns:
                return order
        raise ValueError(f"the default order {default!r} is not one of {', '.join(columns)}")

    def __str__(self) -> str:
        return f"-{self.column}" if self.descending else self.column


@dataclass(frozen=True)
class _Cursor:
    value: Any
    row_id: int
    backwards: bool

    def encode(self) -> str:
        text = json.dumps([self.value, self.row_id, self.backwards], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> _Cursor | None:
        try:
            data = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True))
        except (binascii.Error, ValueError, RecursionError):
            return None
        match data:
            case [str() | int() | float() as value, int(row_id), bool(backwards)] if 0 <= row_id < _LIMIT:
                if _is_storable(value):
                    return cls(value, row_id, backwards)
        return None


def _is_storable(value: str | float) -> bool:
    """Whether a column can hold the value: JSON has unbounded numbers and lone surrogates."""
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return -_LIMIT < value < _LIMIT


def is_cursor(text: str) -> bool:
    return _Cursor.decode(text) is not None


def page_of(
    rows: QuerySet[ModelRow],
    order: Order,
    columns: Mapping[str, str],
    cursor: str = "",
    size: int = PAGE_SIZE,
    *,
    total: int | None = None,
    count_limit: int | None = None,
) -> Page[ModelRow]:
    """One page of a query, sorted by `columns[order.column]` and then by id (two queries).

    Args:
        rows: The query, in any order.
        order: Sort order.
        columns: {column: field}; the fields are texts or numbers and never null (annotate a `Coalesce`).
        cursor: Cursor of another page; "" or a malformed one selects the first page.
        size: Rows per page.
        total: Number of rows, if it is known; saves the count.
        count_limit: Stop counting there; `Page.more` tells that there are more.
    """
    field = columns[order.column]
    counted = _count(rows, count_limit) if total is None else (total, False)
    start = _Cursor.decode(cursor) if cursor else None
    remaining = None if start is None else _rows_after(rows, field, start, order.descending)
    if start is None or remaining is None:
        start, remaining = None, rows
    backwards = start is not None and start.backwards
    sign = "-" if order.descending != backwards else ""
    items = list(remaining.order_by(f"{sign}{field}", f"{sign}id")[: size + 1])
    has_more = len(items) > size
    items = items[:size]
    if backwards:
        items.reverse()
    if not items:
        return Page(items, counted[0], more=counted[1])
    has_next, has_previous = (True, has_more) if backwards else (has_more, start is not None)
    return Page(
        items,
        counted[0],
        more=counted[1],
        next_cursor=_Cursor(_value(items[-1], field), items[-1].pk, False).encode() if has_next else None,
        previous_cursor=_Cursor(_value(items[0], field), items[0].pk, True).encode()
        if has_previous
        else None,
    )


def _count(rows: QuerySet[ModelRow], limit: int | None) -> tuple[int, bool]:
    """Number of rows up to `limit`, and whether there are more."""
    if limit is None:
        return rows.count(), False
    number = rows.order_by()[: limit + 1].count()
    return min(number, limit), number > limit


def page_in_memory(rows: Sequence[Row], number: int, size: int = PAGE_SIZE) -> Page[Row]:
    """Page `number`, from 0, of rows that are sorted in memory; its cursors are page numbers."""
    start = number * size
    return Page(
        rows[start : start + size],
        len(rows),
        next_cursor=str(number + 1) if start + size < len(rows) else None,
        previous_cursor=str(number - 1) if number else None,
    )


def _rows_after(
    rows: QuerySet[ModelRow], field: str, start: _Cursor, descending: bool
) -> QuerySet[ModelRow] | None:
    """Rows after a cursor in its direction; None if its value does not have the field's type."""
    side = "lt" if descending != start.backwards else "gt"
    try:
        condition = Q(**{f"{field}__{side}": start.value})
        tied = Q(**{field: start.value, f"id__{side}": start.row_id})
        return rows.filter(condition | tied)
    except (ValueError, TypeError):
        return None


def _value(row: Model, field: str) -> Any:
    value: Any = row
    for part in field.split("__"):
        value = getattr(value, part)
    return value


_MAX_WORDS = 20


def having_words(text: str) -> Q:
    """Condition that all words of a text are in name or note; an empty text matches all rows."""
    condition = Q()
    for word in text.split()[:_MAX_WORDS]:
        condition &= Q(name__icontains=word) | Q(note__icontains=word)
    return condition


def list_page(
    request: HttpRequest,
    template: str,
    rows: Callable[[str], QuerySet[Any]],
    columns: Mapping[str, str],
    default_sort: str,
    context: Callable[[Page[Any]], dict[str, Any]] = lambda page: {},
    noun: str = "",
) -> HttpResponse:
    """The page of a list with search (`q`), sort order (`sort`) and cursor (`page`) from the address.

    Args:
        request: The request.
        template: Path of the template.
        rows: Query of the rows with a text in name or note; all for "".
        columns: {column: field} of the sort orders.
        default_sort: Sort order without the parameter.
        context: Further context of the template; may replace `rows`.
        noun: Name of a row; "" for the model's.
    """
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), columns, default_sort)
    page = page_of(rows(q), order, columns, request.GET.get("page", ""))
    model: type[Named] = rows("").model
    noun = noun or kind_of(model)
    shared = {
        "page": page,
        "rows": page.rows,
        "q": q,
        "sort": str(order),
        "any": bool(page.rows) or model._default_manager.exists(),
        "noun": noun,
        "what": f"{noun}s",
    }
    return render(request, template, shared | context(page))
