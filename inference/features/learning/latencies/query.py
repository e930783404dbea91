"""What pages, API and shell read of latencies."""

from __future__ import annotations

from collections import Counter

from django.db.models import Aggregate, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from inference.core.protocols import Json
from inference.isa.blocks import block_of_hex
from inference.models import InstructionScheme, LatencySet, SchemeLatencies
from inference.models.scheme_search import search_schemes
from inference.web.paging import having_words

SET_COLUMNS = {"created": "id", "name": "name", "schemes": "scheme_count"}
SCHEME_COLUMNS = {"scheme": "scheme__text", "least": "least", "most": "most", "isolated": "isolated"}


def latency_sets(text: str = "") -> QuerySet[LatencySet]:
    """All sets with `scheme_count`, `pair_count` (the isolated ones) and `is_recorded`; those with a text."""
    rows = LatencySet.objects.select_related("isa", "machine").defer("readings")
    rows = rows.annotate(
        scheme_count=_of_schemes(Count("pk")),
        pair_count=_of_schemes(Sum("isolated")),
        is_recorded=Q(readings__isnull=False),
    )
    return rows.filter(having_words(text)) if text else rows


def _of_schemes(number: Aggregate) -> Coalesce:
    """A number over the schemes of each set, 0 where it has none: from an index, as their rows are wide."""
    found = SchemeLatencies.objects.filter(latency_set=OuterRef("pk")).order_by().values("latency_set")
    return Coalesce(Subquery(found.annotate(number=number).values("number"), IntegerField()), Value(0))


def latencies_of(row: LatencySet, q: str = "") -> QuerySet[SchemeLatencies]:
    """The schemes of a set that a search finds. Raises `SearchError`."""
    rows = row.schemes.select_related("scheme")
    if q:
        rows = rows.filter(scheme__in=search_schemes(row.isa.schemes.all(), q).values("pk"))
    return rows


def scheme_ids_of(row: LatencySet) -> list[int]:
    """The schemes that a set has."""
    return list(row.schemes.order_by("scheme_id").values_list("scheme_id", flat=True))


def instructions_of(chain: Json) -> list[str]:
    """A chain, or another code that is kept like one, line by line."""
    return chain.get("listing") or block_of_hex(chain["code"]).text.splitlines()


def idiom_counts(row: LatencySet) -> list[tuple[str, int]]:
    """(kind, schemes) of the idioms and false dependencies that a set has."""
    found = row.schemes.exclude(idioms=[]).values_list("idioms", flat=True)
    return Counter(kind for idioms in found for kind in {one["kind"] for one in idioms}).most_common()


def latencies_of_scheme(scheme: InstructionScheme) -> QuerySet[SchemeLatencies]:
    """What every set says of a scheme, the newest first; its chains only where somebody looks at them."""
    rows = scheme.latencies.select_related("latency_set", "latency_set__machine")
    return rows.defer("chains", "latency_set__readings", "latency_set__memory").order_by("-latency_set_id")


CHAINS_PER_SCHEME = 7.9
"""Of the default set: what an estimate goes by."""


IDIOMS_PER_SCHEME = 3.4
"""More chains for idioms."""
