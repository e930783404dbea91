"""The list of port mappings, each with the evaluation that says most about it."""

from __future__ import annotations

from django.db.models import (
    Case,
    Count,
    F,
    FloatField,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from inference.models import Evaluation, PortMapping, PortUsage
from inference.queries.by_name import having_words

UNKNOWN_ERROR = 1e300  # sorts mappings without a score behind all others; no MAPE is as large
UNKNOWN_AGREEMENT = -2.0  # r and τ are at least -1
MAPPING_COLUMNS = {
    "created": "id",
    "name": "name",
    "schemes": "scheme_count",
    "mape": "mape_or_last",
    "pearson": "pearson_or_last",
    "kendall": "kendall_or_last",
}


def port_mappings(text: str = "", on: int | None = None) -> QuerySet[PortMapping]:
    """All mappings, those with a text in name or note where one is given.

    Each has `scheme_count`, and `evaluation_id`, `mape`, `pearson` and `kendall` of one evaluation in cycles,
    None where there is none: of that on the set with the id `on`, or, without `on`, of the one on held-out
    experiments, else of the newest.
    """
    schemes = PortUsage.objects.filter(mapping=OuterRef("pk")).order_by().values("mapping")
    counted = schemes.annotate(n=Count("scheme", distinct=True)).values("n")
    own = Evaluation.objects.filter(mapping=OuterRef("pk"), unit=Evaluation.Unit.CYCLES)
    if on is not None:
        own = own.filter(experiment_set=on)
    held_out_first = Case(When(held_out_by__isnull=False, then=Value(0)), default=Value(1))
    best = own.order_by(held_out_first, "-id")
    rows = (
        PortMapping.objects.defer("report")
        .select_related("isa", "machine", "run")
        .annotate(
            scheme_count=Coalesce(Subquery(counted, output_field=IntegerField()), Value(0)),
            evaluation_id=Subquery(best.values("pk")[:1]),
            mape=Subquery(best.values("mape")[:1]),
            pearson=Subquery(best.values("pearson")[:1]),
            kendall=Subquery(best.values("kendall")[:1]),
        )
        .annotate(
            mape_or_last=Coalesce(F("mape"), Value(UNKNOWN_ERROR), output_field=FloatField()),
            pearson_or_last=Coalesce(F("pearson"), Value(UNKNOWN_AGREEMENT), output_field=FloatField()),
            kendall_or_last=Coalesce(F("kendall"), Value(UNKNOWN_AGREEMENT), output_field=FloatField()),
        )
    )
    if text:
        rows = rows.filter(having_words(text))
    return rows
