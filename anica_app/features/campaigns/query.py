"""Campaigns and what they have found, paged; the newest; how quick another one will be; who needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import (
    Case,
    Count,
    F,
    FloatField,
    IntegerField,
    OuterRef,
    Prefetch,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Least

from anica_app.models import Campaign, CampaignPredictor, Discovery, SampleBatch
from anica_app.storage.judging import judge_of
from inference.core.protocols import Json
from inference.features.asking.predictors.query import common_isa
from inference.features.library.search.query import group, with_words
from inference.models import Run
from inference.models.scheme_search import search_schemes
from inference.predictors.samples import Sample, unpack
from inference.storage.instruction_sets import code_isa_row
from inference.web.contributions import Dependent, Hit, SearchHits
from inference.web.deleting import GONE, counted
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


def campaigns(text: str = "", kind: str = "", tool: int | None = None) -> QuerySet[Campaign]:
    """All campaigns with what lists show of them, without their configurations.

    `text`: of those with it in name or note; `kind`: of this kind; `tool`: with this predictor, by its id.
    Each has `found`, the discoveries not covered by another one, `explained`, the share of fresh interesting
    blocks that they subsume (None where nobody asked), its run, and its predictors in order, as `seats`.
    """
    rows = Campaign.objects.select_related("run").defer(
        "config", "facts", "note", "run__config", "run__result", "run__note", "run__error"
    )
    rows = rows.annotate(found=_count_of_discoveries(), explained=F("facts__explained__share"))
    if text:
        rows = rows.filter(having_words(text))
    if kind:
        rows = rows.filter(kind=kind)
    if tool is not None:
        rows = rows.filter(seats__predictor=tool)
    seats = CampaignPredictor.objects.select_related("predictor").order_by("position")
    return rows.prefetch_related(Prefetch("seats", seats))


def _count_of_discoveries() -> Coalesce:
    own = Discovery.objects.filter(campaign=OuterRef("pk"), subsumed_by=None).order_by()
    counted = own.values("campaign").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def discoveries(
    campaign: Campaign, order: Order, cursor: str = "", *, subsumed: bool = False, size: int = PAGE_SIZE
) -> Page[Discovery]:
    """A page of a campaign's discoveries (two queries); `subsumed`: those covered by others as well.

    What the original files said (`foreign`) is not loaded. Discoveries of which an interestingness or a
    generality is not known come last when the greatest are first.
    """
    rows = campaign.discoveries.defer("foreign", "remarks", "note")
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


NEWEST_BLOCKS = 8
_ROUNDS_LOOKED_AT = 5


def newest_disagreements(campaign: Campaign) -> list[Sample]:
    """The newest random blocks on which the tools disagree, while a campaign goes on (two queries)."""
    judge = judge_of(campaign)
    if judge is None:
        return []
    rows = campaign.batches.filter(purpose=SampleBatch.Purpose.ROUND, interesting__gt=0).order_by("-number")
    found: list[Sample] = []
    for packed in rows.values_list("samples", flat=True)[:_ROUNDS_LOOKED_AT]:
        samples = unpack(bytes(packed))
        found += [one for one in samples if judge.verdict(one.answers).interesting]
        if len(found) >= NEWEST_BLOCKS:
            break
    return found[:NEWEST_BLOCKS]


SHOWN = 5


@dataclass(frozen=True)
class Newest:
    """The newest campaigns, those that are still searching first, and the newest discoveries."""

    campaigns: Sequence[Campaign]
    discoveries: Sequence[Discovery]


def newest() -> Newest:
    """Two queries. Discoveries that others include are left out."""
    going_on = [state for state in Run.State.values if state not in Run.FINAL]
    later = Case(When(run__state__in=going_on, then=Value(0)), default=Value(1))
    standing = Discovery.listed().filter(subsumed_by=None)
    return Newest(
        list(campaigns().order_by(later, "-id")[:SHOWN]),
        list(standing.order_by("-created", "-id")[:SHOWN]),
    )


@dataclass(frozen=True)
class CampaignPace:
    """What an earlier campaign did: `rate` in blocks per second, `schemes` that all its tools support."""

    campaign: Campaign
    rate: float
    schemes: int | None


def pace_of(predictors: Sequence[int]) -> CampaignPace | None:
    """The newest campaign made here with just these predictors (one query); None where there is none."""
    rows = Campaign.objects.filter(origin=Campaign.Origin.RUN, seconds__gt=0, facts__judged__gt=0)
    rows = rows.annotate(tools_count=Count("seats")).filter(tools_count=len(predictors))
    for pk in predictors:
        rows = rows.filter(seats__predictor=pk)
    row = rows.order_by("-id").only("name", "config", "facts", "seconds").first()
    if row is None:
        return None
    return CampaignPace(row, row.facts["judged"] / row.seconds, row.facts.get("schemes"))


@dataclass(frozen=True)
class CampaignPlan:
    """What a complete description asks for, and what is known of how long that takes."""

    config: Json
    schemes: int
    pace: CampaignPace | None

    @property
    def left(self) -> int | None:
        """The schemes of the campaign that tells the pace, where it had the same choice of them."""
        if self.pace is None:
            return None
        before = self.pace.campaign.config
        same = all(before.get(name) == self.config[name] for name in ("scheme_filter", "space"))
        return self.pace.schemes if same else None

    @property
    def blocks(self) -> int | None:
        """How many blocks will be judged, where time ends the campaign and the pace is known."""
        minutes = self.config["end"]["minutes"]
        return None if minutes is None or self.pace is None else round(60 * minutes * self.pace.rate)


def plan_of(config: Json) -> CampaignPlan:
    """Of a description that has been checked (four queries)."""
    isa = code_isa_row(common_isa(config["predictors"]))
    schemes = 0 if isa is None else search_schemes(isa.schemes.all(), config["scheme_filter"]).count()
    return CampaignPlan(config, schemes, pace_of(config["predictors"]))


def of_campaign(row: Campaign) -> list[Dependent]:
    """Its discoveries go with it; its run forbids its deletion as long as it works."""
    run = row.run if row.origin == Campaign.Origin.RUN else None
    working = run is not None and run.state not in Run.FINAL
    return [
        *([Dependent("Its run has not ended", "cancel it first", blocks=True)] if working else []),
        *counted(row.discoveries.count(), "discovery", GONE, "discoveries"),
        *counted(row.families.count(), "family", GONE, "families"),
        *counted(row.generalisations.count(), "generalisation", GONE),
        *counted(row.batches.count(), "round of blocks", GONE, "rounds of blocks"),
        *counted(row.files.count(), "file", GONE),
    ]


def search_hits(text: str, most: int) -> list[SearchHits]:
    """What the search box finds: campaigns by name and note."""
    return [
        group(
            SearchHits("campaigns", "Campaigns", (), 0, "campaigns"),
            with_words(Campaign.objects.only("name", "note", "kind"), text),
            most,
            lambda row: Hit(row.pk, row.name, row.get_kind_display(), "campaign"),
        ),
    ]
