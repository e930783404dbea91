"""An annotation that counts related rows by a subquery instead of a join."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce


def row_count(rows: QuerySet[Any], field: str, counted: str = "pk") -> Coalesce:
    """The number of distinct `counted` values among the `rows` whose `field` refers to the annotated row."""
    related = rows.filter(**{field: OuterRef("pk")}).order_by().values(field)
    number = related.annotate(number=Count(counted, distinct=counted != "pk")).values("number")
    return Coalesce(Subquery(number, output_field=IntegerField()), Value(0))
