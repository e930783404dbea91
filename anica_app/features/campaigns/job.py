"""Runs of kind `campaign`: a durable search for what tools disagree about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from anica_app.core.block_domain import BlockDomain
from anica_app.core.errors import AnicaError
from anica_app.core.explained_blocks import ExplainedBlocks, explained
from anica_app.core.search.discovering import CampaignSearch as Search
from anica_app.core.search.judging import Disagreement, InterestJudge
from anica_app.core.search.state import State, checkpoint_of, state_of
from anica_app.features.campaigns.progressing import Progressing
from anica_app.features.campaigns.request import CampaignConfig, ExcludedDiscovery, read_config
from anica_app.features.campaigns.rows import RowKeeper, campaign_of, make_campaign
from anica_app.features.families.grouping import SHARE_OF_QUESTIONS, GroupedDiscoveries, known_discoveries
from anica_app.features.families.growing import GrowingFamilies
from anica_app.features.families.stage import CampaignGrouping
from anica_app.features.families.storing import store_families
from anica_app.models import Campaign
from anica_app.storage.domains import chosen_domain, restricted_domain, world_of
from inference.core.event import Event
from inference.core.events import PhaseStarted, ResultStored
from inference.core.protocols import Checkpoint, Json
from inference.features.asking.predictors.opening import opened_panel
from inference.features.asking.predictors.query import common_isa
from inference.models import Run
from inference.predictors.panel import Panel
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.instruction_sets import code_isa

LABELS = ("Find schemes supported by every predictor", "Search", "Compute coverage", "Group into families")
STAGE_SEARCH, STAGE_JUDGING, STAGE_FAMILIES = "search", "judge", "families"
_SEARCHED = "searched"
"""In the last checkpoint: whoever takes the run up again does not search any more."""


class CampaignJob:
    """Runs of kind `campaign`; `CampaignConfig` is their description."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """The campaign's row: what is discovered is seen while it runs."""
        make_campaign(run, Campaign.Kind.CAMPAIGN, common_isa(run.config["predictors"]))

    def work(self, task: Task) -> Store:
        """Search, storing what is discovered with each checkpoint."""
        stored = task.run.config  # of an earlier release, perhaps, which did not know some settings
        config = CampaignConfig.stored(stored)
        campaign = campaign_of(task.run)
        isa = code_isa(campaign.isa)
        schemes = config.scheme_filter or ""
        domain = chosen_domain(isa, stored["space"], stored["domain"], schemes, config.uops)
        try:
            with opened_panel(task, config.predictors, isa) as panel:
                domain, support = restricted_domain(task, campaign, panel, domain, LABELS)
                campaign.facts["schemes"] = len(domain.space)
                campaign.facts["unsupported"] = len(support["lacking"])
                judge = Disagreement(config.interest)
                _tell_stage(task, STAGE_SEARCH)
                state = _searched(task, config, campaign, domain, panel, judge)
                stage = CampaignGrouping(task, campaign, domain, panel, judge, config.against, config.judge)
                if config.evaluate:
                    _tell_stage(task, STAGE_JUDGING)
                judged = stage.judged(config.evaluate, STAGE_JUDGING)
                covered = explained(domain, state.standing, judged, task.reporter.pulse) if judged else None
                _tell_stage(task, STAGE_FAMILIES)
                grouped = stage.grouped(judged, round(SHARE_OF_QUESTIONS * state.counters.judged))
        except (AnicaError, PredictorError) as error:
            raise JobError(str(error)) from error
        return partial(_store, campaign, state, covered, grouped)


def _tell_stage(task: Task, name: str) -> None:
    index = (STAGE_SEARCH, STAGE_JUDGING, STAGE_FAMILIES).index(name) + 2
    task.reporter.emit(PhaseStarted(name, index, LABELS))


def _searched(
    task: Task,
    config: CampaignConfig,
    campaign: Campaign,
    domain: BlockDomain,
    panel: Panel,
    judge: InterestJudge,
) -> State:
    """The search itself, from its beginning or where it was interrupted."""
    begun = task.checkpoint is not None and bool(task.checkpoint.meta)
    resume = task.checkpoint if begun else None
    if resume is not None and resume.meta.get(_SEARCHED):
        return state_of(resume, domain)
    growing = GrowingFamilies(domain, [tool.name for tool in panel.predictors])
    if resume is not None:
        growing.seed(known_discoveries(campaign, domain))
    keeper = RowKeeper(campaign, domain, task.reporter, resume, growing)
    end = config.end
    search = Search(
        world_of(domain, task.run.config["search"], config.seed),
        panel,
        judge,
        end,
        Progressing(task.reporter, end, keeper, panel.flush),
        keeper,
        excluded=[domain.read(row.abstract) for row in config.excluded if isinstance(row, ExcludedDiscovery)],
    )
    state = search.search(resume)
    last = checkpoint_of(state, domain)
    task.reporter.save(Checkpoint({**last.meta, _SEARCHED: True}, last.arrays))
    return state


def _store(
    campaign: Campaign, state: State, judged: ExplainedBlocks | None, grouped: GroupedDiscoveries
) -> tuple[Json, Sequence[Event]]:
    """The campaign's last facts and its families; its discoveries are stored already."""
    counters = state.counters
    if judged is not None:
        campaign.facts["explained"] = judged.as_json()
    Campaign.objects.filter(pk=campaign.pk).update(facts=campaign.facts, seconds=counters.seconds)
    made: Json = {
        "campaign": campaign.pk,
        "name": campaign.name,
        "url": f"/campaigns/{campaign.pk}/",  # not looked up: a fault in a page must not cost a result
        "discoveries": len(state.standing),
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
    return made, [ResultStored(made)]
