"""What the pages of instruction sets and schemes show."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, IntegerField, Model, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from inference.core.mapping import Uops, uops_of
from inference.models import ISA, ExperimentSet, InstructionScheme, PortMapping, ResourceMapping
from inference.models.scheme_order import FIT

SCHEME_COLUMNS = {
    "fit": FIT,
    "row": "id",
    "text": "text",
    "extension": "extension",
    "category": "category",
    "memory": "memory",
    "width": "width",
}
"""Columns that schemes can be sorted by, for `paging.Order`; `fit` is of rows that `by_fit` has annotated."""


def instruction_sets() -> QuerySet[ISA]:
    """All instruction sets with the number of their schemes, sets and mappings.

    `scheme_count`, `default_count`, `set_count`, `mapping_count` (of ports), `resource_mapping_count`.
    """
    return ISA.objects.annotate(
        scheme_count=_count(InstructionScheme),
        default_count=_count(InstructionScheme, Q(exclusion="")),
        set_count=_count(ExperimentSet),
        mapping_count=_count(PortMapping),
        resource_mapping_count=_count(ResourceMapping),
    )


def _count(model: type[Model], condition: Q | None = None) -> Coalesce:
    rows = model._default_manager.filter(condition or Q(), isa=OuterRef("pk")).order_by()
    counted = rows.values("isa").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


@dataclass(frozen=True)
class UsageIn:
    """The µops of a scheme in one mapping."""

    mapping: PortMapping
    uops: Uops


def usages_of(scheme: InstructionScheme) -> list[UsageIn]:
    """What every mapping that describes the scheme says of it, newest mapping first (one query)."""
    by_mapping: dict[PortMapping, list[tuple[int, int]]] = {}
    rows = scheme.usages.select_related("mapping").defer("mapping__report").order_by("-mapping_id", "mask")
    for usage in rows:
        pairs = by_mapping.setdefault(usage.mapping, [])
        if usage.count:
            pairs.append((usage.mask, usage.count))
    return [UsageIn(mapping, uops_of(pairs)) for mapping, pairs in by_mapping.items()]
