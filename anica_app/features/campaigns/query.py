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
from anica_app.core.search.events import CountersEvent
from anica_app.features.discoveries.wording import discovery_title, wording_of
from anica_app.models import Campaign, CampaignPredictor, Discovery, SampleBatch
from anica_app.storage.domains import SUPPORT
from anica_app.storage.findings import interesting_samples, judge_of
from inference.core.protocols import Json
from inference.core.texts import count_of as count_of_things
from inference.features.asking.predictors.query import common_isa
from inference.features.library.search.query import group, with_words
from inference.formats.archived_parts import StrictJsonError, load
from inference.models import Run, StoredCoreModel
from inference.models.scheme_search import search_schemes
from inference.predictors import core_model, machine
from inference.predictors.samples import Sample
from inference.storage.instruction_sets import code_isa_row
from inference.web.contributions import Dependent, Hit, SearchHits
from inference.web.deleting import DELETED, count_of
from inference.web.paging import PAGE_SIZE, Order, Page, having_words, page_of
from inference.web.presentation import duration

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
    """All campaigns with what lists show of them, without their configurations.

    `text`: of those with it in name or note; `kind`: of this kind; `tool`: with this predictor, by its id.
    Each row has its run; its predictors in order, as `seats`; `discovery_count`, how many of its discoveries
    no other one subsumes; and `explained`, the share of fresh interesting blocks that these subsume (None
    where that was not computed).
    """
    rows = Campaign.objects.select_related("run").defer(
        "config", "facts", "note", "run__config", "run__result", "run__note", "run__error"
    )
    own = Discovery.objects.filter(campaign=OuterRef("pk"), subsumed_by=None).order_by()
    counted = own.values("campaign").annotate(number=Count("pk")).values("number")
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
    known = Coalesce(F("interestingness"), Value(-1.0), output_field=FloatField())
    rows = rows.annotate(  # what is sorted by may be neither null nor infinite
        interest=Least(known, Value(INFINITE), output_field=FloatField()),
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


@dataclass(frozen=True)
class CampaignPace:
    """The speed of an earlier campaign: `rate` in blocks per second, `schemes` that all its tools support."""

    campaign: Campaign
    rate: float
    schemes: int | None


def pace_of(predictors: Sequence[int]) -> CampaignPace | None:
    """The pace of the newest campaign run here with exactly these predictors (one query); None without
    one.
    """
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
    config: Json
    schemes: int
    pace: CampaignPace | None

    @property
    def left(self) -> int | None:
        """The supported schemes of the campaign that gives the pace, if it had the same choice of schemes."""
        if self.pace is None:
            return None
        earlier = self.pace.campaign.config
        is_same = all(earlier.get(name) == self.config[name] for name in ("scheme_filter", "space"))
        return self.pace.schemes if is_same else None

    @property
    def blocks(self) -> int | None:
        """The estimated number of judged blocks, where time ends the campaign and the pace is known."""
        minutes = self.config["end"]["minutes"]
        return None if minutes is None or self.pace is None else round(60 * minutes * self.pace.rate)


def plan_of(config: Json) -> CampaignPlan:
    """The plan of a checked description (four queries)."""
    isa = code_isa_row(common_isa(config["predictors"]))
    schemes = 0 if isa is None else search_schemes(isa.schemes.all(), config["scheme_filter"]).count()
    return CampaignPlan(config, schemes, pace_of(config["predictors"]))


MAX_OF_CPU = 3


def campaigns_about(row: StoredCoreModel) -> list[Campaign]:
    """The newest campaigns with a CPU's machine or its core model among the predictors (two queries); [] for
    a recorded core.
    """
    about = Q(predictors__kind=core_model.KIND, predictors__options__model=row.name)
    if row.machine is not None:
        about |= Q(predictors__kind=machine.KIND, predictors__options__machine=row.machine.name)
    rows = campaigns().filter(about, kind=Campaign.Kind.CAMPAIGN).distinct()
    return list(rows.order_by("-id")[:MAX_OF_CPU]) if row.pk else []


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


def search_hits(text: str, most: int) -> list[SearchHits]:
    """Campaigns with the text in name or note, for the search box."""
    return [
        group(
            SearchHits("campaigns", "Campaigns", (), 0, "campaigns"),
            with_words(Campaign.objects.only("name", "note", "kind"), text),
            most,
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
class CampaignStatus:
    """The progress of a campaign, from its rows and, while it runs, from its last event."""

    sampled: int
    interesting: int
    subsumed: int
    rounds: int
    discoveries: int
    included: int
    generalisations: int | None
    judged: int | None
    generalising: int
    rate: float | None
    seconds: float
    failures: tuple[tuple[str, int], ...]

    @property
    def ratio(self) -> float | None:
        """Share of the random blocks that is interesting, 0 to 1."""
        return self.interesting / self.sampled if self.sampled else None


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


def campaign_status(campaign: Campaign, run: Run | None) -> CampaignStatus:
    """The counters of a campaign (two queries, three while it runs)."""
    counts = campaign.discoveries.aggregate(n=Count("pk"), unsubsumed=Count("pk", filter=Q(subsumed_by=None)))
    live = None if run is None or run.state in Run.FINAL else _last_counted(run)
    counters = live or campaign
    facts = {**campaign.facts, **({} if live is None else live.payload())}
    seconds = facts.get("seconds", campaign.seconds)
    judged = facts.get("judged")
    rate = (live and live.rate) or (judged / seconds if judged and seconds else None)
    return CampaignStatus(
        sampled=counters.sampled,
        interesting=counters.interesting,
        subsumed=counters.subsumed,
        rounds=counters.rounds,
        discoveries=counts["unsubsumed"],
        included=counts["n"] - counts["unsubsumed"],
        generalisations=facts.get("generalisations"),
        judged=judged,
        generalising=live.generalising if live else 0,
        rate=rate,
        seconds=seconds,
        failures=tuple(sorted(facts.get("failures", {}).items(), key=lambda item: -item[1])),
    )


@dataclass(frozen=True)
class CampaignDoing:
    """What a running campaign does now, and what comes then; "" where nothing does."""

    now: str
    then: str


_NOW = {
    "support": "Finding the schemes that every predictor supports",
    "judge": "Predicting fresh blocks, which weigh the families",
    "families": "Looking for causes, and grouping the discoveries",
}
"""{phase of the run's progress, or of the last stage: what it does}."""


def campaign_doing(campaign: Campaign, run: Run, status: CampaignStatus) -> CampaignDoing:
    """The progress of a running campaign as sentences (one query)."""
    progress = run.progress
    phase = progress.get("phase", "")
    searching = phase not in _NOW
    generalising = status.generalising
    if not phase and not status.sampled:
        return CampaignDoing("Starting the predictors", "You can close the page meanwhile.")
    now = _NOW.get(phase) or (
        f"Generalising {count_of_things(generalising, 'block')} on which they disagree"
        if generalising
        else "Drawing random blocks"
    )
    if total := progress.get("total"):
        now += f": {progress.get('done', 0):,.0f} of {total:,.0f} {progress.get('unit', '')}"
    if progress.get("eta") is not None and total:
        now += f", about {duration(progress['eta'])} left"
    if phase == "families":
        return CampaignDoing(now, "")
    steps = ["predicts fresh blocks"] if campaign.config.get("evaluate") and phase != "judge" else []
    tail = _seconds_after_search(campaign)
    known = tail is not None and searching
    usual = f" The last campaign of this pair took {duration(tail)} for that." if known else ""
    then = " and ".join([*steps, "groups the discoveries by cause"])
    start = "Then it searches, " if phase == "support" else "Then it "
    return CampaignDoing(now, f"{start}{then}.{usual} You can close the page meanwhile.")


def _seconds_after_search(campaign: Campaign) -> float | None:
    """How long the newest finished campaign of the same tools took after its search; None without one."""
    pace = pace_of([tool.pk for tool in campaign.tools])
    rows = Run.objects.filter(campaign=None if pace is None else pace.campaign.pk, state=Run.State.DONE)
    run = rows.only("started", "finished").first()
    if pace is None or run is None or run.started is None or run.finished is None:
        return None
    return max(0.0, (run.finished - run.started).total_seconds() - pace.campaign.seconds)


def _last_counted(run: Run) -> CountersEvent | None:
    """The newest counters in the journal; None before there are any."""
    event = run.events.filter(kind=CountersEvent.kind).order_by("-seq").first()
    return None if event is None else CountersEvent.read(event.payload)


def lacking_of(campaign: Campaign, tools: list[str], limit: int = 200) -> list[Lacking]:
    """The schemes excluded for lack of support, by tool and reason (one query); [] where that was not
    recorded.
    """
    file = campaign.files.filter(path=SUPPORT, size__lte=_MAX_BYTES).first()
    lacking = {} if file is None else _lacking(zlib.decompress(bytes(file.content)))
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


def _lacking(content: bytes) -> dict[str, dict[str, str]]:
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
