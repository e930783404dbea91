"""Pace, plan, counters and progress of campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from anica_app.core.search.events import CountersEvent
from anica_app.models import Campaign
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.predictors.kinds import common_isa
from inference.models import Run
from inference.models.scheme_search import search_schemes
from inference.storage.instruction_sets import code_isa_row
from inference.web.presentation import duration


@dataclass(frozen=True)
class CampaignPace:
    """The speed of an earlier campaign: `rate` in blocks per second, `schemes` that all its tools support.

    `seconds_around`: the time that its run took before and after the search; None where that is unknown.
    """

    campaign: Campaign
    rate: float
    schemes: int | None
    seconds_around: float | None


def pace_of(predictors: Sequence[int]) -> CampaignPace | None:
    """The pace of the newest campaign run here with exactly these predictors (one query); None without
    one.
    """
    rows = Campaign.objects.filter(origin=Campaign.Origin.RUN, seconds__gt=0, facts__judged__gt=0)
    rows = rows.annotate(tools_count=Count("seats")).filter(tools_count=len(predictors))
    for pk in predictors:
        rows = rows.filter(seats__predictor=pk)
    columns = ("name", "config", "facts", "seconds", "run__state", "run__started", "run__finished")
    row = rows.order_by("-id").select_related("run").only(*columns).first()
    if row is None:
        return None
    run, around = row.run, None
    if run is not None and run.state == Run.State.DONE and run.started and run.finished:
        around = max(0.0, (run.finished - run.started).total_seconds() - row.seconds)
    return CampaignPace(row, row.facts["judged"] / row.seconds, row.facts.get("schemes"), around)


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
        f"Generalising {count_of(generalising, 'block')} on which they disagree"
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
    pace = pace_of([tool.pk for tool in campaign.tools]) if searching else None
    around = None if pace is None else pace.seconds_around
    usual = (
        ""
        if around is None
        else f" The last campaign of this pair took {duration(around)} beside its search."
    )
    then = " and ".join([*steps, "groups the discoveries by cause"])
    start = "Then it searches, " if phase == "support" else "Then it "
    return CampaignDoing(now, f"{start}{then}.{usual} You can close the page meanwhile.")


def _last_counted(run: Run) -> CountersEvent | None:
    """The newest counters in the journal; None before there are any."""
    event = run.events.filter(kind=CountersEvent.kind).order_by("-seq").first()
    return None if event is None else CountersEvent.read(event.payload)
