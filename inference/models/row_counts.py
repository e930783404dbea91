"""How many rows of another table belong to each row of a query, without joining them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce


def row_count(rows: QuerySet[Any], field: str, counted: str = "pk") -> Coalesce:
    """The number of different `counted` of those `rows` whose `field` is the row that is annotated."""
    own = rows.filter(**{field: OuterRef("pk")}).order_by().values(field)
    number = own.annotate(number=Count(counted, distinct=counted != "pk")).values("number")
    return Coalesce(Subquery(number, output_field=IntegerField()), Value(0))
