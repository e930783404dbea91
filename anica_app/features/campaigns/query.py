"""Queries of campaigns: lists, discoveries, status, estimates, dependents."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from django.db.models import (
    Case,
    Count,
    F,
    FloatField,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Least
from pydantic import BaseModel, Field, ValidationError

from anica_app.core.domain.wording import BlockWording
from anica_app.features.discoveries.wording import discovery_title, wording_of
from anica_app.models import Campaign, CampaignPredictor, Discovery, SampleBatch
from anica_app.storage.domains import SUPPORT
from anica_app.storage.findings import interesting_samples, judge_of
from inference.features.library.search.query import group, with_words
from inference.formats.archived_parts import StrictJsonError, load
from inference.models import Run, StoredCoreModel
from inference.predictors import core_model, machine
from inference.predictors.llvm import mca
from inference.predictors.samples import Sample
from inference.web.contributions import Dependent, Hit, SearchHits
from inference.web.deleting import DELETED, count_of
from inference.web.paging import PAGE_SIZE, Order, Page, having_words, page_of

CAMPAIGN_ORDERS: Mapping[str, str] = {
    "newest": "id",
    "name": "name",
    "discoveries": "discovery_count",
    "sampled": "sampled",
    "seconds": "seconds",
}
DISCOVERY_ORDERS: Mapping[str, str] = {
    "number": "number",
    "interestingness": "interest",
    "generality": "schemes",
    "length": "length",
}
"""Sort keys of the lists, and the field of each."""

INFINITE = 1e18
"""Replaces an infinite interestingness in sorted queries: a cursor in an address must be a finite number."""
NEWEST_BLOCKS = 8
MAX_NEWEST = 5
_MAX_BYTES, _MAX_VALUES = 16 << 20, 1_000_000
"""Limits of that file; with ten thousand schemes and the answers of some tools it has about a megabyte."""


def campaigns(text: str = "", kind: str = "", tool: int | None = None) -> QuerySet[Campaign]:
    """Campaigns for lists, without their configurations.

    Args:
        text: Only campaigns with this text in name or note.
        kind: Only campaigns of this kind.
        tool: Only campaigns with the predictor of this id.

    Returns:
        Rows with their runs; their predictors in order, as `seats`; `discovery_count`, the number of
        discoveries that no other one subsumes; and `explained`, the share of fresh interesting blocks that
        these subsume (None where that was not computed).
    """
    rows = Campaign.objects.select_related("run").defer(
        "config", "facts", "note", "run__config", "run__result", "run__note", "run__error"
    )
    unsubsumed = Discovery.objects.filter(campaign=OuterRef("pk"), subsumed_by=None).order_by()
    counted = unsubsumed.values("campaign").annotate(number=Count("pk")).values("number")
    discovery_count = Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    rows = rows.annotate(discovery_count=discovery_count, explained=F("facts__explained__share"))
    if text:
        rows = rows.filter(having_words(text))
    if kind:
        rows = rows.filter(kind=kind)
    if tool is not None:
        rows = rows.filter(seats__predictor=tool)
    seats = CampaignPredictor.objects.select_related("predictor").order_by("position")
    return rows.prefetch_related(Prefetch("seats", seats))


def discoveries(
    campaign: Campaign, order: Order, cursor: str = "", *, subsumed: bool = False, size: int = PAGE_SIZE
) -> Page[Discovery]:
    """A page of a campaign's discoveries (two queries); with `subsumed`, also those that others cover.

    `foreign`, the original of an imported one, is not loaded. Unknown interestingness or generality sorts
    below all numbers.
    """
    rows = campaign.discoveries.defer("foreign", "remarks", "note")
    if not subsumed:
        rows = rows.filter(subsumed_by=None)
    interest = Coalesce(F("interestingness"), Value(-1.0), output_field=FloatField())
    rows = rows.annotate(  # what is sorted by may be neither null nor infinite
        interest=Least(interest, Value(INFINITE), output_field=FloatField()),
        schemes=Coalesce(F("generality"), Value(0), output_field=IntegerField()),
    )
    return page_of(rows, order, DISCOVERY_ORDERS, cursor, size)


def rounds(campaign: Campaign, cursor: str = "", size: int = PAGE_SIZE) -> Page[SampleBatch]:
    """A page of the batches sampled outside of generalisations (two queries), in order, without their
    blocks.
    """
    rows = campaign.batches.defer("samples")
    return page_of(rows, Order("number"), {"number": "number"}, cursor, size)


def newest_disagreements(campaign: Campaign) -> list[Sample]:
    """The newest random blocks on which the tools disagree, while a campaign runs (two queries)."""
    judge = judge_of(campaign)
    if judge is None:
        return []
    return list(islice(interesting_samples(campaign, judge, newest_first=True), NEWEST_BLOCKS))


@dataclass(frozen=True)
class Newest:
    """The newest campaigns, running ones first, and the newest discoveries."""

    campaigns: Sequence[Campaign]
    discoveries: Sequence[Discovery]


def newest() -> Newest:
    """Two queries. Discoveries that others cover are excluded."""
    going_on = [state for state in Run.State.values if state not in Run.FINAL]
    later = Case(When(run__state__in=going_on, then=Value(0)), default=Value(1))
    unsubsumed = Discovery.listed().filter(subsumed_by=None)
    return Newest(
        list(campaigns().order_by(later, "-id")[:MAX_NEWEST]),
        list(unsubsumed.order_by("-created", "-id")[:MAX_NEWEST]),
    )


MAX_OF_CPU = 3


def newest_mistakes(row: StoredCoreModel) -> Campaign | None:
    """The newest campaign of llvm-mca and a CPU that has discoveries (two queries)."""
    tools = CampaignPredictor.objects.filter(predictor__kind=mca.KIND).values("campaign")
    condition = _about(row) & Q(pk__in=tools, discoveries__isnull=False)
    rows = campaigns().filter(condition, kind=Campaign.Kind.CAMPAIGN).distinct()
    return rows.order_by("-id").first() if row.pk else None


def campaigns_about(row: StoredCoreModel) -> list[Campaign]:
    """The newest campaigns with a CPU's machine or its core model among the predictors (two queries); [] for
    a recorded core.
    """
    rows = campaigns().filter(_about(row), kind=Campaign.Kind.CAMPAIGN).distinct()
    return list(rows.order_by("-id")[:MAX_OF_CPU]) if row.pk else []


def _about(row: StoredCoreModel) -> Q:
    condition = Q(predictors__kind=core_model.KIND, predictors__options__model=row.name)
    if row.machine is not None:
        condition |= Q(predictors__kind=machine.KIND, predictors__options__machine=row.machine.name)
    return condition


def of_campaign(row: Campaign) -> list[Dependent]:
    """The dependents of a campaign: its discoveries go with it; an unfinished run forbids deletion."""
    run = row.run if row.origin == Campaign.Origin.RUN else None
    working = run is not None and run.state not in Run.FINAL
    return [
        *([Dependent("Its run has not ended", "cancel it first", blocks=True)] if working else []),
        *count_of(row.discoveries.count(), "discovery", DELETED, "discoveries"),
        *count_of(row.families.count(), "family", DELETED, "families"),
        *count_of(row.generalisations.count(), "generalisation", DELETED),
        *count_of(row.batches.count(), "round of blocks", DELETED, "rounds of blocks"),
        *count_of(row.files.count(), "file", DELETED),
    ]


def search_hits(text: str, limit: int) -> list[SearchHits]:
    """Campaigns with the text in name or note, for the search box."""
    return [
        group(
            SearchHits("campaigns", "Campaigns", (), 0, "campaigns"),
            with_words(Campaign.objects.only("name", "note", "kind"), text),
            limit,
            lambda row: Hit(row.pk, row.name, row.get_kind_display(), "campaign"),
        ),
    ]


@dataclass(frozen=True)
class DiscoveryRow:
    """A discovery in a table; `words` is None where its constraints cannot be expressed here, `covered` None
    without a coverage.
    """

    row: Discovery
    words: BlockWording | None
    covered: int | None

    @property
    def title(self) -> str:
        return discovery_title(self.row)


def discovery_row(row: Discovery, covered: Mapping[int, int] | None) -> DiscoveryRow:
    """A row of the table. `covered`: {discovery: blocks that it covers}."""
    blocks = None if covered is None else covered.get(row.pk, 0)
    return DiscoveryRow(row, wording_of(row.abstract), blocks)


class _Support(BaseModel):
    """The contents of the file `SUPPORT`; see `anica_app.storage.domains`."""

    lacking: dict[str, dict[Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3}$")], str]]


@dataclass(frozen=True)
class Lacking:
    """Schemes that a tool does not support, with the reason: their number, the first texts, and the `file`
    with all.
    """

    tool: str
    reason: str
    count: int
    schemes: tuple[str, ...]
    file: int


def lacking_of(campaign: Campaign, tools: list[str], limit: int = 200) -> list[Lacking]:
    """The schemes excluded for lack of support, by tool and reason (one query); [] where that was not
    recorded.
    """
    file = campaign.files.filter(path=SUPPORT, size__lte=_MAX_BYTES).first()
    lacking = {} if file is None else _missing_schemes(zlib.decompress(bytes(file.content)))
    if file is None or not lacking:
        return []
    schemes: dict[tuple[str, str], list[str]] = {}
    for text, answers in lacking.items():
        for number, reason in answers.items():
            schemes.setdefault((number, reason), []).append(text)
    return [
        Lacking(_tool(tools, number), reason, len(texts), tuple(sorted(texts)[:limit]), file.pk)
        for (number, reason), texts in sorted(schemes.items())
    ]


def _missing_schemes(content: bytes) -> dict[str, dict[str, str]]:
    """{scheme: {number of the tool: reason}}; {} for an imported file of another form."""
    try:
        return _Support.model_validate(load(content, SUPPORT, _MAX_VALUES)).lacking
    except (StrictJsonError, ValidationError):
        return {}


def _tool(tools: list[str], number: str) -> str:
    place = int(number) - 1
    return tools[place] if 0 <= place < len(tools) else number


def failures_in_words(failures: tuple[tuple[str, int], ...], tools: list[str]) -> list[tuple[str, str, int]]:
    """(failure, predictor, count) of "timeout of 2"."""
    counts: Counter[tuple[str, str]] = Counter()
    for name, count in failures:
        failure, of, number = name.rpartition(" of ")
        counts[(failure, _tool(tools, number)) if of and number.isdecimal() else (name, "")] += count
    return [(failure, predictor, count) for (failure, predictor), count in counts.items()]
