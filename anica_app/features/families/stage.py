"""A campaign's discoveries are grouped: the tools tell the causes, an earlier campaign what is new."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from anica_app.core.block_domain import BlockDomain
from anica_app.core.explained_blocks import fresh_blocks, judged_blocks
from anica_app.core.families.finding import CampaignFamilies
from anica_app.core.search.judging import InterestJudge, JudgedAnswers
from anica_app.core.search.panel import Driver
from anica_app.features.families.carrying import ComparedFamilies, HeldAgainst, campaign_before
from anica_app.features.families.grouping import (
    GroupedDiscoveries,
    JudgedDisagreements,
    asking,
    grouped_discoveries,
    own_disagreements,
)
from anica_app.features.families.referee import RefereedFamilies, refereed
from anica_app.features.families.repeating import repeated_with_values
from anica_app.models import Campaign
from inference.core.events import Progress
from inference.features.asking.predictors.opening import opened
from inference.models import Predictor
from inference.predictors.panel import Panel
from inference.runs.kinds import Task
from inference.runs.request import needed_row
from inference.storage.instruction_sets import code_isa


def earlier_campaign(campaign: Campaign, chosen: int | None) -> Campaign | None:
    """The one with this id, else the newest that fits, if any. Raises `JobError` if it was deleted."""
    if chosen is None:
        return campaign_before(campaign)
    return needed_row(Campaign, chosen, "earlier campaign")


@dataclass(frozen=True)
class CampaignGrouping:
    """What the stage works with. `against`: id of a campaign that families are held against, else the newest
    that fits; `referee`: id of a predictor that judges, None without.
    """

    task: Task
    campaign: Campaign
    domain: BlockDomain
    panel: Panel
    judge: InterestJudge
    against: int | None = None
    referee: int | None = None

    def judged(self, number: int, phase: str) -> list[JudgedAnswers]:
        """The verdicts on so many fresh blocks, which tell how much the discoveries explain."""

        def told(done: int) -> None:
            self.panel.flush()
            self.task.reporter.emit(Progress(phase, done, number, 0.0, "blocks", None))

        driver = Driver(self.domain, self.panel, self.judge)
        return judged_blocks(driver, fresh_blocks(self.domain, number), told)

    def grouped(self, judged: Sequence[JudgedAnswers], questions: int) -> GroupedDiscoveries:
        """The families, weighed by the judged blocks; without such, by the campaign's own random blocks.

        Raises `JobError` where what they are held against, or the judge, is not there any more.
        """
        against, referee = earlier_campaign(self.campaign, self.against), self._referee()
        pulse = self.task.reporter.pulse
        ask = asking(self.panel, pulse)
        disagreements = self._disagreements(judged)
        families = grouped_discoveries(self.campaign, self.domain, ask, disagreements, questions, pulse)
        held: ComparedFamilies | None = None
        if against is not None:
            blocks = disagreements.blocks
            holding = HeldAgainst(against, self.domain, ask, self.judge, blocks, self.task)
            held = holding.compared(families.families)
        ruled = None if referee is None else self._refereed(referee, families, judged)
        repeated = repeated_with_values(self.task, self.campaign, families, self.judge, ruled)
        return GroupedDiscoveries(families, disagreements, held, ruled, repeated)

    def _disagreements(self, judged: Sequence[JudgedAnswers]) -> JudgedDisagreements:
        if not judged:
            return own_disagreements(self.campaign, self.domain, self.judge)
        blocks = tuple(one.block for one in judged if one.verdict.interesting)
        return JudgedDisagreements(len(judged), blocks, fresh=True)

    def _referee(self) -> Predictor | None:
        if self.referee is None:
            return None
        return needed_row(Predictor, self.referee)

    def _refereed(
        self, referee: Predictor, families: CampaignFamilies, judged: Sequence[JudgedAnswers]
    ) -> RefereedFamilies:
        isa, pulse = code_isa(self.campaign.isa), self.task.reporter.pulse
        with (
            closing(opened(referee, self.task, isa=isa)) as tool,
            closing(Panel([tool], pulse)) as panel,
        ):
            tools = len(self.panel.predictors)
            return refereed(referee, asking(panel, pulse), families, judged, self.domain, tools)
