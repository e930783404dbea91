"""Runs of kind `campaign`: a search that survives interruptions, and its progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from anica_app.core.block_domain import BlockDomain
from anica_app.core.discovery_selection import ExplainedBlocks, explained_blocks
from anica_app.core.errors import AnicaError
from anica_app.core.search.campaign_search import CampaignSearch as Search
from anica_app.core.search.campaign_state import CampaignState, checkpoint_of, state_of
from anica_app.core.search.events import CountersEvent
from anica_app.core.search.interestingness import Disagreement, InterestJudge
from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.request import CampaignConfig, ExcludedDiscovery, read_config
from anica_app.features.campaigns.rows import CampaignRowStore, campaign_of, make_campaign
from anica_app.features.families.family_rows import store_families
from anica_app.features.families.grouping import (
    SHARE_OF_QUESTIONS,
    CampaignGrouping,
    FamilyTracker,
    GroupedDiscoveries,
    ungrouped_discoveries,
)
from anica_app.models import Campaign
from anica_app.storage.domains import chosen_domain, restricted_domain, search_context
from inference.core.events import Event, PhaseStarted, Progress, ResultStored
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint, Json
from inference.features.asking.predictors.kinds import common_isa
from inference.features.asking.predictors.opening import open_panel
from inference.models import Predictor, Run
from inference.predictors.panel import Panel
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.reporter import JournalReporter
from inference.storage.instruction_sets import code_isa
from inference.storage.names import enumerated, row_names

LABELS = ("Find schemes supported by every predictor", "Search", "Compute coverage", "Group into families")
STAGE_SEARCH, STAGE_JUDGING, STAGE_FAMILIES = "search", "judge", "families"
_SEARCHED = "searched"
"""Key in the last checkpoint: a resumed run does not search again."""
_KEEP_EVERY = 5.0  # seconds


class CampaignJob(Job):
    """Runs of kind `campaign`; `CampaignConfig` is their description."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        return enumerated(row_names(Predictor, config["predictors"]))

    def submitted(self, run: Run) -> None:
        """Create the campaign's row, so that discoveries are visible while it runs."""
        make_campaign(run, Campaign.Kind.CAMPAIGN, common_isa(run.config["predictors"]))

    def work(self, task: Task) -> Store:
        """Search, storing results with each checkpoint; then compute coverage and families."""
        description = task.run.config  # of an earlier release, perhaps, which did not know some settings
        config = CampaignConfig.from_stored(description)
        campaign = campaign_of(task.run)
        isa = code_isa(campaign.isa)
        schemes = config.scheme_filter or ""
        domain = chosen_domain(isa, description["space"], description["domain"], schemes, config.uops)
        try:
            with open_panel(task, config.predictors, isa) as panel:
                domain, support = restricted_domain(task, campaign, panel, domain, LABELS)
                campaign.facts["schemes"] = len(domain.space)
                campaign.facts["unsupported"] = len(support["lacking"])
                judge = Disagreement(config.interest)
                _tell_stage(task, STAGE_SEARCH)
                state = _search_state(task, config, campaign, domain, panel, judge)
                stage = CampaignGrouping(task, campaign, domain, panel, judge, config.against, config.judge)
                if config.evaluate:
                    _tell_stage(task, STAGE_JUDGING)
                judged = stage.judged(config.evaluate, STAGE_JUDGING)
                pulse, general = task.reporter.pulse, state.unsubsumed
                covered = explained_blocks(domain, general, judged, pulse) if judged else None
                _tell_stage(task, STAGE_FAMILIES)
                grouped = stage.grouped(judged, round(SHARE_OF_QUESTIONS * state.counters.judged))
        except (AnicaError, PredictorError) as error:
            raise JobError(str(error)) from error
        return partial(_store, campaign, state, covered, grouped)


def _tell_stage(task: Task, name: str) -> None:
    index = (STAGE_SEARCH, STAGE_JUDGING, STAGE_FAMILIES).index(name) + 2
    task.reporter.emit(PhaseStarted(name, index, LABELS))


def _search_state(
    task: Task,
    config: CampaignConfig,
    campaign: Campaign,
    domain: BlockDomain,
    panel: Panel,
    judge: InterestJudge,
) -> CampaignState:
    """The final state of the search, from its beginning, a checkpoint, or a finished search."""
    is_resumed = task.checkpoint is not None and bool(task.checkpoint.meta)
    resume = task.checkpoint if is_resumed else None
    if resume is not None and resume.meta.get(_SEARCHED):
        return state_of(resume, domain)
    growing_families = FamilyTracker(domain, [tool.name for tool in panel.predictors])
    if resume is not None:
        growing_families.seed(ungrouped_discoveries(campaign, domain))
    store = CampaignRowStore(campaign, domain, task.reporter, resume, growing_families)
    end = config.end
    search = Search(
        search_context(domain, task.run.config["search"], config.seed),
        panel,
        judge,
        end,
        Progressing(task.reporter, end, store, panel.flush),
        store,
        excluded=[domain.read(row.abstract) for row in config.excluded if isinstance(row, ExcludedDiscovery)],
    )
    state = search.search(resume)
    last = checkpoint_of(state, domain)
    task.reporter.save(Checkpoint({**last.meta, _SEARCHED: True}, last.arrays))
    return state


def _store(
    campaign: Campaign, state: CampaignState, judged: ExplainedBlocks | None, grouped: GroupedDiscoveries
) -> tuple[Json, Sequence[Event]]:
    """Store the campaign's final facts and its families; its discoveries are stored already."""
    counters = state.counters
    if judged is not None:
        campaign.facts["explained"] = judged.as_json()
    Campaign.objects.filter(pk=campaign.pk).update(facts=campaign.facts, seconds=counters.seconds)
    result: Json = {
        "campaign": campaign.pk,
        "name": campaign.name,
        "url": f"/campaigns/{campaign.pk}/",  # not looked up: a fault in a page must not cost a result
        "discoveries": len(state.unsubsumed),
        "all_discoveries": len(state.discoveries),
        "generalisations": counters.generalisations,
        "rounds": counters.rounds,
        "sampled": counters.sampled,
        "interesting": counters.interesting,
        "judged": counters.judged,
        "seconds": round(counters.seconds, 3),
        "rate": round(counters.judged / counters.seconds, 1) if counters.seconds else None,
        "failures": dict(state.failures),
        "explained": None if judged is None else judged.as_json(),
        **store_families(campaign, grouped),
    }
    return result, [ResultStored(result)]


class Progressing:
    """A `Reporter` that saves a checkpoint between waves. `flush` makes the predictors store their answers.

    Generalising may take longer than the time between two checkpoints. A resumed run asks the same questions
    and gets stored answers, so it catches up quickly; saving the last checkpoint again shows that the run
    makes progress.
    """

    def __init__(
        self, reporter: JournalReporter, end: Termination, store: CampaignRowStore, flush: Callable[[], None]
    ) -> None:
        self._reporter = reporter
        self._end = end
        self._store = store
        self._flush = flush
        self._pace = PacedReporter(self)

    def emit(self, event: Event) -> None:
        """Pass the event on; counters also become progress towards the nearest limit."""
        self._reporter.emit(event)
        if not isinstance(event, CountersEvent):
            return
        self._reporter.emit(_progress(event, self._end))
        if self._pace.due("keep", _KEEP_EVERY):
            self._flush()
            if self._store.last is not None:
                self._reporter.save(_with_seconds(self._store.last, event.seconds))

    def save(self, checkpoint: Checkpoint) -> None:
        self._reporter.save(checkpoint)

    def pulse(self) -> None:
        """Raises `InterruptedRunError` on a request to stop."""
        self._reporter.pulse()


def _with_seconds(checkpoint: Checkpoint, seconds: float) -> Checkpoint:
    counters = {**checkpoint.meta["counters"], "seconds": seconds}
    return Checkpoint({**checkpoint.meta, "counters": counters}, checkpoint.arrays)


def _progress(counters: CountersEvent, end: Termination) -> Progress:
    limits = [
        (done, total, unit)
        for done, total, unit in (
            (counters.seconds, 60 * (end.minutes or 0), "seconds"),
            (counters.standing, end.discoveries, "discoveries"),
            (counters.sampled, end.blocks, "blocks"),
            (counters.barren, end.barren, "blocks without a discovery"),
        )
        if total
    ]
    done, total, unit = max(limits, key=lambda limit: limit[0] / limit[1], default=(0, 1, "seconds"))
    seconds = counters.seconds
    rate = done / seconds if seconds > 0 else 0.0
    steady = unit != "blocks without a discovery"  # the next one sets them back
    return Progress(
        phase="search",
        done=round(min(done, total), 1),
        total=round(total, 1),
        rate=round(rate, 3) if unit == "blocks" else 0.0,
        unit=unit,
        eta=round(max(0.0, total - done) / rate, 1) if rate > 0 and steady else None,
    )


JOBS = {"campaign": CampaignJob}
