"""Rows that are no longer kept: how much they are, and their removal in small transactions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Field, QuerySet, Sum, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Length

_DELETED_AT_ONCE, _EMPTIED_AT_ONCE = 200, 500
_PAUSE_SECONDS = 0.02  # between two transactions: others want to write as well


@dataclass(frozen=True)
class Weight:
    """How much something is: rows, and bytes of their bulky columns, without what the database adds."""

    rows: int = 0
    size: int = 0

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.rows + other.rows, self.size + other.size)


@dataclass(frozen=True)
class Surplus:
    """Rows that go, or whose columns become `emptied`, by which `rows` finds them no more.

    `size`: bytes that this saves of a row.
    """

    rows: QuerySet[Any]
    size: Combinable
    emptied: Mapping[str, Any] = field(default_factory=dict)

    def weigh(self) -> Weight:
        """How much goes, by one query."""
        return _weight(self.rows, self.size)

    def remove(self) -> Weight:
        """Let it go; how much it was."""
        gone, left = Weight(), self.rows.order_by("pk")
        most = _EMPTIED_AT_ONCE if self.emptied else _DELETED_AT_ONCE
        while pks := list(left.values_list("pk", flat=True)[:most]):
            some = self.rows.model._default_manager.filter(pk__in=pks)
            gone += _weight(some, self.size)
            if self.emptied:
                some.update(**self.emptied)
            else:
                some.only("pk").delete()
            left = self.rows.filter(pk__gt=pks[-1]).order_by("pk")
            time.sleep(_PAUSE_SECONDS)
        return gone


def _weight(rows: QuerySet[Any], size: Combinable) -> Weight:
    number, total = rows.order_by().aggregate(number=Count("pk"), size=Sum(size)).values()
    return Weight(number, total or 0)


def length_of_json(column: str) -> Length:
    """Characters of a JSON column, or of a part of it, as it is stored."""
    as_text: Field[str, str] = TextField()
    return Length(Cast(column, as_text))
