"""Runs of kind `campaign`: a durable search for what tools disagree about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from anica_app.campaigning.config import CampaignConfig, read_config
from anica_app.campaigning.keeping import RowKeeper
from anica_app.campaigning.opening import (
    chosen_domain,
    opened_panel,
    restricted_domain,
    world_of,
)
from anica_app.campaigning.progressing import Progressing
from anica_app.core.errors import AnicaError
from anica_app.core.ranking.evaluation import Explained, explained, fresh_blocks, judged_blocks
from anica_app.core.search.discovering import Campaign as Search
from anica_app.core.search.judging import Disagreement, InterestSettings, Judge
from anica_app.core.search.panel import Driver, Panel
from anica_app.core.search.settings import Termination
from anica_app.core.search.state import State
from anica_app.core.x86_domain import X86Domain
from anica_app.models import Campaign, CampaignPredictor
from inference.core.protocols import Json
from inference.models import ISA, Run
from inference.runs.errors import JobError
from inference.runs.job import Store, Task
from inference.runs.journal import Entry
from inference.storage.instruction_sets import X86
from inference.storage.names import free_name

LABELS = ("Find the schemes that all support", "Search")
JUDGING = "Judge what is explained"
STAGE_SEARCH, STAGE_JUDGING = "search", "judge"


class CampaignJob:
    """Runs of kind `campaign`; `config.CampaignConfig` is their description."""

    short = False

    def check(self, config: Json) -> Json:
        """The description made complete."""
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """The campaign's row: what is discovered is seen while it runs."""
        make_campaign(run, Campaign.Kind.CAMPAIGN)

    def work(self, task: Task) -> Store:
        """Search, storing what is discovered with each checkpoint."""
        config = CampaignConfig(**task.run.config)
        campaign = campaign_of(task.run)
        labels = (*LABELS, JUDGING) if config.evaluate else LABELS
        domain = chosen_domain(config.space, config.domain, config.scheme_filter, config.uops)
        try:
            with opened_panel(task, config.predictors) as panel:
                domain, support = restricted_domain(task, campaign, panel, domain, labels)
                campaign.facts["schemes"] = len(domain.space)
                campaign.facts["unsupported"] = len(support["lacking"])
                judge = Disagreement(InterestSettings(**config.interest))
                task.reporter.tell("phase", {"name": STAGE_SEARCH, "index": 2, "labels": list(labels)})
                state = _searched(task, config, campaign, domain, panel, judge)
                judged = None
                if config.evaluate:
                    task.reporter.tell("phase", {"name": STAGE_JUDGING, "index": 3, "labels": list(labels)})
                    judged = _judged(task, Driver(domain, panel, judge), domain, state, config.evaluate)
        except AnicaError as error:
            raise JobError(str(error)) from error
        return partial(_store, campaign, state, judged)


def _searched(
    task: Task, config: CampaignConfig, campaign: Campaign, domain: X86Domain, panel: Panel, judge: Judge
) -> State[Any]:
    """The search itself, from its beginning or where it was interrupted."""
    begun = task.checkpoint is not None and bool(task.checkpoint.meta)
    resume = task.checkpoint if begun else None
    keeper = RowKeeper(campaign, domain, task.reporter, resume)
    end = Termination(**config.end)
    search = Search(
        world_of(domain, config.search, config.seed),
        panel,
        judge,
        end,
        Progressing(task.reporter, end, keeper, panel.flush),
        keeper,
        excluded=[domain.read(one["abstract"]) for one in config.excluded],
    )
    return search.search(resume)


def make_campaign(run: Run, kind: Campaign.Kind) -> Campaign:
    """The campaign of a run, with its predictors in their order."""
    campaign = Campaign.objects.create(
        name=free_name(Campaign, run.name),
        isa=ISA.objects.filter(name=X86).first(),
        run=run,
        kind=kind,
        origin=Campaign.Origin.RUN,
        config=run.config,
    )
    CampaignPredictor.objects.bulk_create(
        CampaignPredictor(campaign=campaign, position=position, predictor_id=pk)
        for position, pk in enumerate(run.config["predictors"])
    )
    return campaign


def campaign_of(run: Run) -> Campaign:
    """The row of a campaign's run. Raises `JobError` where it has been deleted."""
    campaign = Campaign.objects.filter(run=run).first()
    if campaign is None:
        raise JobError("the campaign of this run has been deleted")
    return campaign


def _judged(
    task: Task, driver: Driver[Any, Any, Any], domain: X86Domain, state: State[Any], number: int
) -> Explained:
    """How much of fresh blocks the discoveries explain."""

    def told(done: int) -> None:
        facts = {"phase": STAGE_JUDGING, "done": done, "total": number, "rate": 0.0}
        task.reporter.tell("progress", {**facts, "unit": "blocks", "eta": None})

    judged = judged_blocks(driver, fresh_blocks(domain, number), told)
    return explained(domain, state.standing, judged, task.reporter.pulse)


def _store(campaign: Campaign, state: State[Any], judged: Explained | None) -> tuple[Json, Sequence[Entry]]:
    """The campaign's last facts; its discoveries are stored already."""
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
    }
    return made, [("result", made)]
