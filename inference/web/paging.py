"""Pages of long tables by key, not by offset: page 500 costs as much as page 1, and nothing is shown twice.

A cursor names a row by its sort value and id, and the direction to go from there. It travels in the URL, so
it may be anything: an unreadable one is treated as none.
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
_BEYOND = 2**63  # no column holds numbers like that


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows of one page with the cursors of its neighbours, and how many rows there are in all.

    `more`: there are more than `total`, which nobody has counted.
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
        """The order that a text means, whichever columns there are."""
        return cls(text.removeprefix("-"), text.startswith("-"))

    @classmethod
    def read(cls, text: str, columns: Mapping[str, str], default: str) -> Order:
        """The order that a query parameter asks for; the default where it names no known column."""
        for wanted in (text, default):
            order = cls.of(wanted)
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
            case [str() | int() | float() as value, int(row_id), bool(backwards)] if 0 <= row_id < _BEYOND:
                if _is_storable(value):
                    return cls(value, row_id, backwards)
        return None


def _is_storable(value: str | float) -> bool:
    """Whether a column could hold this: JSON knows numbers without end, and halves of characters."""
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return -_BEYOND < value < _BEYOND


def is_cursor(text: str) -> bool:
    """Whether a page could have given this."""
    return _Cursor.decode(text) is not None


def page_of(
    rows: QuerySet[ModelRow],
    order: Order,
    columns: Mapping[str, str],
    cursor: str = "",
    size: int = PAGE_SIZE,
    *,
    total: int | None = None,
    most: int | None = None,
) -> Page[ModelRow]:
    """One page of a query, sorted by `columns[order.column]` and then by id.

    The fields in `columns` must not be null (annotate a `Coalesce` where a column may be), and texts or
    numbers. Two queries: the count and the page. `total` is how many rows there are where that is known;
    at most `most` are counted, which ends the search for more.
    """
    field = columns[order.column]
    counted = _count(rows, most) if total is None else (total, False)
    start = _Cursor.decode(cursor) if cursor else None
    beyond = None if start is None else _beyond(rows, field, start, order.descending)
    if start is None or beyond is None:
        start, beyond = None, rows
    backwards = start is not None and start.backwards
    sign = "-" if order.descending != backwards else ""
    found = list(beyond.order_by(f"{sign}{field}", f"{sign}id")[: size + 1])
    more = len(found) > size
    found = found[:size]
    if backwards:
        found.reverse()
    if not found:
        return Page(found, counted[0], more=counted[1])
    has_next, has_previous = (True, more) if backwards else (more, start is not None)
    return Page(
        found,
        counted[0],
        more=counted[1],
        next_cursor=_Cursor(_value(found[-1], field), found[-1].pk, False).encode() if has_next else None,
        previous_cursor=_Cursor(_value(found[0], field), found[0].pk, True).encode()
        if has_previous
        else None,
    )


def _count(rows: QuerySet[ModelRow], most: int | None) -> tuple[int, bool]:
    """How many rows there are, and whether there are more than that."""
    if most is None:
        return rows.count(), False
    found = rows.order_by()[: most + 1].count()
    return min(found, most), found > most


def page_in_memory(rows: Sequence[Row], number: int, size: int = PAGE_SIZE) -> Page[Row]:
    """Page `number` from 0 of rows that are all at hand, because what sorts them is computed."""
    start = number * size
    return Page(
        rows[start : start + size],
        len(rows),
        next_cursor=str(number + 1) if start + size < len(rows) else None,
        previous_cursor=str(number - 1) if number else None,
    )


def _beyond(
    rows: QuerySet[ModelRow], field: str, start: _Cursor, descending: bool
) -> QuerySet[ModelRow] | None:
    """The rows on the far side of a cursor; None where its value is not of the field's type."""
    side = "lt" if descending != start.backwards else "gt"
    try:
        further = Q(**{f"{field}__{side}": start.value})
        tied = Q(**{field: start.value, f"id__{side}": start.row_id})
        return rows.filter(further | tied)
    except (ValueError, TypeError):
        return None


def _value(row: Model, field: str) -> Any:
    value: Any = row
    for part in field.split("__"):
        value = getattr(value, part)
    return value


_MOST_WORDS = 20


def having_words(text: str) -> Q:
    """Rows with every word of a text in name or note, in any order; all of them for no words."""
    found = Q()
    for word in text.split()[:_MOST_WORDS]:
        found &= Q(name__icontains=word) | Q(note__icontains=word)
    return found


def list_page(
    request: HttpRequest,
    template: str,
    rows: Callable[[str], QuerySet[Any]],
    columns: Mapping[str, str],
    usual: str,
    context: Callable[[Page[Any]], dict[str, Any]] = lambda page: {},
    noun: str = "",
) -> HttpResponse:
    """A page of the rows that have the search's text in name or note, in the order that the address names.

    Args:
        rows: Those with a text in name or note, all for an empty one.
        columns: What an order may be by, as `Order.read` takes them; `usual` is the order without one.
        context: What the template needs besides; `rows` where its cells show more than a row of the model.
        noun: What a row is called, where that is not its model's name.
    """
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), columns, usual)
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
