"""Runs of kind `families`: group the discoveries of a finished or imported campaign.

Where the campaign's tools can run here, they are asked for causes; else stored answers are used.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial

from anica_app.core.block_domain import BlockDomain, full_domain
from anica_app.core.errors import AnicaError
from anica_app.core.search.interestingness import Disagreement, InterestJudge, InterestSettings
from anica_app.features.families.earlier_campaign import FamilyComparison, StoredAnswers
from anica_app.features.families.family_rows import store_families
from anica_app.features.families.grouping import (
    SHARE_OF_QUESTIONS,
    CampaignGrouping,
    GroupedDiscoveries,
    earlier_campaign,
    grouped_discoveries,
    own_disagreements,
)
from anica_app.features.families.query import KIND, campaign_sentence
from anica_app.features.families.request import FamiliesConfig
from anica_app.models import Campaign
from anica_app.storage.descriptions import read_against
from anica_app.storage.domains import SUPPORT, chosen_domain
from anica_app.storage.findings import judge_of
from inference.core.events import Event, Log, ResultStored
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import common_mode, rows_in_mode
from inference.features.asking.predictors.opening import open_predictor
from inference.models import Predictor, Run
from inference.predictors.panel import Panel
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import needed_row, read_row
from inference.storage.instruction_sets import code_isa
from inference.storage.names import result_name, row_names

MIN_QUESTIONS = 400
"""Questions about causes for campaigns whose number of judged blocks is unknown."""


def read_config(description: Json) -> FamiliesConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = FamiliesConfig.read(description)
    row = read_row(Campaign, "campaign", config.campaign)
    if row.kind != Campaign.Kind.CAMPAIGN:
        raise ConfigError(f"campaign: {row.name} is of one block, whose discoveries have one cause")
    if row.run is not None and row.run.state not in Run.FINAL:
        raise ConfigError(f"campaign: {row.name} goes on; it groups its discoveries itself at its end")
    if config.against is not None:
        read_against(config.against, row.seats.count())
    if config.judge is None:
        return config
    (judge,) = rows_in_mode([read_row(Predictor, "judge", config.judge)], common_mode(row.tools))
    return config.model_copy(update={"judge": judge.pk})


class FamiliesJob(Job):
    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        return result_name(*row_names(Campaign, [config["campaign"]]), "families")

    def work(self, task: Task) -> Store:
        """Group by the tools' answers, or by stored ones."""
        config = FamiliesConfig.from_stored(task.run.config)
        campaign = needed_row(Campaign, config.campaign)
        judge: InterestJudge = judge_of(campaign) or Disagreement(InterestSettings())
        domain = domain_of(campaign)
        with ExitStack() as stack:
            panel = _open_panel(task, campaign, stack)
            if panel is None:
                if config.judge is not None:
                    raise JobError("the campaign's tools cannot be asked here: there is nothing to be judged")
                grouped = _by_what_is_stored(campaign, domain, judge, task, config.against)
            else:
                stage = CampaignGrouping(task, campaign, domain, panel, judge, config.against, config.judge)
                grouped = _by_asking(stage, config.evaluate)
        return partial(_store, campaign, grouped)


def domain_of(campaign: Campaign) -> BlockDomain:
    """The domain of the campaign's own search; of an imported campaign, the domain of all schemes."""
    if campaign.format != Campaign.Format.OURS:
        return full_domain(code_isa(campaign.isa))
    config = campaign.config
    domain = chosen_domain(
        code_isa(campaign.isa),
        config.get("space", {}),
        config.get("domain", {}),
        config.get("scheme_filter") or "",
        config.get("uops"),
    )
    file = campaign.files.filter(path=SUPPORT).first()
    if file is None:
        return domain
    supported = json.loads(zlib.decompress(bytes(file.content))).get("supported", [])
    return domain.restricted(supported) if supported else domain


def _open_panel(task: Task, campaign: Campaign, stack: ExitStack) -> Panel | None:
    """A panel of the campaign's tools; None where one cannot run here."""
    isa = code_isa(campaign.isa)
    try:
        tools = [stack.enter_context(closing(open_predictor(row, task, isa=isa))) for row in campaign.tools]
    except PredictorError as error:
        task.reporter.emit(Log("info", f"stored answers alone are used: {error}"))
        return None
    panel = Panel(tools, task.reporter.pulse)
    stack.callback(panel.close)
    return panel


def _by_asking(stage: CampaignGrouping, evaluate: int) -> GroupedDiscoveries:
    judged = stage.judged(evaluate, KIND)
    question_count = stage.campaign.facts.get("judged") or 0
    try:
        return stage.grouped(judged, max(MIN_QUESTIONS, round(SHARE_OF_QUESTIONS * question_count)))
    except (AnicaError, PredictorError) as error:
        raise JobError(str(error)) from error


def _by_what_is_stored(
    campaign: Campaign, domain: BlockDomain, judge: InterestJudge, task: Task, against: int | None
) -> GroupedDiscoveries:
    """Group by stored answers for the witnesses, without questions."""
    ask = StoredAnswers(campaign).ask
    disagreements = own_disagreements(campaign, domain, judge)
    families = grouped_discoveries(campaign, domain, ask, disagreements, 0, task.reporter.pulse)
    earlier = earlier_campaign(campaign, against)
    if earlier is None:
        return GroupedDiscoveries(families, disagreements)
    comparison = FamilyComparison(earlier, domain, ask, judge, disagreements.blocks, task)
    return GroupedDiscoveries(families, disagreements, comparison.compared(families.families))


def _store(campaign: Campaign, grouped: GroupedDiscoveries) -> tuple[Json, Sequence[Event]]:
    families = store_families(campaign, grouped)
    result: Json = {
        "campaign": campaign.pk,
        "name": campaign_sentence(campaign),
        "url": f"/campaigns/{campaign.pk}/",
        **families,
    }
    return result, [ResultStored({name: result[name] for name in ("campaign", "name", "url")})]


JOBS = {"families": FamiliesJob}
