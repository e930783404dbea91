"""Lists of campaigns and of what they have discovered, paged."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Count, F, FloatField, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Least

from anica_app.models import Campaign, CampaignPredictor, Discovery, SampleBatch
from inference.web.paging import PAGE_SIZE, Order, Page, having_words, page_of

CAMPAIGN_ORDERS: Mapping[str, str] = {
    "newest": "id",
    "name": "name",
    "discoveries": "found",
    "sampled": "sampled",
    "seconds": "seconds",
}
DISCOVERY_ORDERS: Mapping[str, str] = {
    "number": "number",
    "interestingness": "interest",
    "generality": "schemes",
    "length": "length",
}
"""What lists can be sorted by, and the field for it."""

INFINITE = 1e18
"""Stands for infinite interestingness where rows are sorted: a cursor in an address must be a number."""


def campaigns(
    order: Order,
    cursor: str = "",
    size: int = PAGE_SIZE,
    *,
    text: str = "",
    kind: str = "",
    tool: int | None = None,
) -> Page[Campaign]:
    """A page of all campaigns (three queries), without their configurations.

    `text`: of those with it in name or note; `kind`: of this kind; `tool`: with this predictor, by its id.
    Each has `found`, the discoveries that no other one includes, `explained`, the share of fresh interesting
    blocks that they subsume (None where nobody asked), its run, and its predictors in order, as `seats`.
    """
    rows = listed_campaigns()
    if text:
        rows = rows.filter(having_words(text))
    if kind:
        rows = rows.filter(kind=kind)
    if tool is not None:
        rows = rows.filter(seats__predictor=tool)
    seats = CampaignPredictor.objects.select_related("predictor").order_by("position")
    page = page_of(rows, order, CAMPAIGN_ORDERS, cursor, size)
    of: dict[int, list[CampaignPredictor]] = {row.pk: [] for row in page.rows}
    for seat in seats.filter(campaign__in=of):
        of[seat.campaign_id].append(seat)
    for row in page.rows:
        row._prefetched_objects_cache = {"seats": of[row.pk]}  # type: ignore[attr-defined]
    return page


def listed_campaigns() -> QuerySet[Campaign]:
    """All campaigns with what lists show of them, see `campaigns`."""
    rows = Campaign.objects.select_related("run").defer(
        "config", "facts", "note", "run__config", "run__result", "run__note", "run__error"
    )
    return rows.annotate(found=_count_of_discoveries(), explained=F("facts__explained__share"))


def _count_of_discoveries() -> Coalesce:
    own = Discovery.objects.filter(campaign=OuterRef("pk"), subsumed_by=None).order_by()
    counted = own.values("campaign").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def discoveries(
    campaign: Campaign, order: Order, cursor: str = "", *, subsumed: bool = False, size: int = PAGE_SIZE
) -> Page[Discovery]:
    """A page of a campaign's discoveries (two queries); `subsumed`: those that others include as well.

    What the original files said (`foreign`) is not loaded. Discoveries of which an interestingness or a
    generality is not known come last when the greatest are first.
    """
    rows = campaign.discoveries.defer("foreign", "facts", "remarks", "note")
    if not subsumed:
        rows = rows.filter(subsumed_by=None)
    return page_of(ranked(rows), order, DISCOVERY_ORDERS, cursor, size)


def ranked(rows: QuerySet[Discovery]) -> QuerySet[Discovery]:
    """The discoveries with fields to sort by that are never null and never infinite."""
    known = Coalesce(F("interestingness"), Value(-1.0), output_field=FloatField())
    return rows.annotate(
        interest=Least(known, Value(INFINITE), output_field=FloatField()),
        schemes=Coalesce(F("generality"), Value(0), output_field=IntegerField()),
    )


def rounds(campaign: Campaign, cursor: str = "", size: int = PAGE_SIZE) -> Page[SampleBatch]:
    """A page of what was sampled outside of generalisations (two queries), in order, without the blocks."""
    rows = campaign.batches.defer("samples")
    return page_of(rows, Order("number"), {"number": "number"}, cursor, size)
