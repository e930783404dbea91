"""Groups a campaign's discoveries: asks the tools for causes, and compares with an earlier campaign."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from random import Random

import numpy as np

from anica_app.core.block_domain import BlockDomain, without_uops
from anica_app.core.discovery_selection import fresh_blocks, judge_blocks
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import SampledBlock
from anica_app.core.errors import AnicaError
from anica_app.core.families.campaign_families import (
    CampaignFamilies,
    UngroupedDiscovery,
    cause_or_guess,
    families_of,
    families_of_groups,
)
from anica_app.core.families.causes import Answers, DifferingBound, Query, ToolAccess, WitnessCause, slower_of
from anica_app.core.families.culprits import culprits_of
from anica_app.core.families.grouping import FamilyMember, group_members
from anica_app.core.search.campaign_state import CampaignUpdate
from anica_app.core.search.interestingness import DIFFERENCE, InterestJudge, JudgedBlock
from anica_app.core.search.search_tasks import Driver
from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.features.families.earlier_campaign import ComparedFamilies, FamilyComparison, campaign_before
from anica_app.features.families.events import FamiliesEvent, PartialFamily
from anica_app.features.families.referee import RefereedFamilies, refereed, repeated_with_values
from anica_app.models import Campaign, Discovery
from anica_app.storage.findings import interesting_samples
from inference.core.events import Progress
from inference.core.protocols import Json
from inference.features.asking.predictors.opening import open_predictor
from inference.models import Predictor
from inference.predictors import core_model, machine, nanobench
from inference.predictors.panel import Panel
from inference.runs.kinds import Task
from inference.runs.request import needed_row
from inference.storage.instruction_sets import code_isa

SHARE_OF_QUESTIONS = 0.2
"""Questions about causes, as a share of the blocks that the campaign judged."""
MAX_OWN_BLOCKS = 2000
"""Disagreements of the campaign's own rounds that weigh families where no fresh block was judged."""

_PIECE = 500
_ATTEMPTS = 20
_BOUND = re.compile(r"bound by (ports|slots|dependencies|front end):")
MAX_PARTIAL = 12
"""Families in an event of a running campaign, the largest ones."""


@dataclass(frozen=True)
class JudgedDisagreements:
    """The blocks that weigh families: `judged` were judged, and the tools disagree on these `blocks`.

    `fresh`: they are independent of the search.
    """

    judged: int
    blocks: tuple[SampledBlock, ...]
    fresh: bool


@dataclass(frozen=True)
class GroupedDiscoveries:
    """The result of grouping: families, the blocks that weigh them, and the comparisons."""

    families: CampaignFamilies
    disagreements: JudgedDisagreements
    compared: ComparedFamilies | None = None
    refereed: RefereedFamilies | None = None
    repeated: Mapping[int, Sequence[Json]] = field(default_factory=dict)
    """{number of a discovery: measurements of its witness with other operand values, per machine}."""


def panel_query(panel: Panel, pulse: Callable[[], None] = lambda: None) -> Query:
    """A query of all tools in pieces; answers are stored after each piece, so that an interrupted run does
    not repeat them.
    """

    def ask(codes: Sequence[bytes]) -> list[Answers]:
        answers: list[Answers] = []
        for begin in range(0, len(codes), _PIECE):
            answers += panel.ask(codes[begin : begin + _PIECE])()
            panel.flush()
            pulse()
        return answers

    return ask


def cause_context(campaign: Campaign, ask: Query) -> ToolAccess:
    """The access to a campaign's tools for finding causes (one query)."""
    kinds = [tool.kind for tool in campaign.tools]
    executes = any(kind in (machine.KIND, nanobench.KIND) for kind in kinds)

    def named_bound(answers: Answers) -> str:
        """The bound that a core model names, where that is what the other tool lacks."""
        slower = slower_of(answers)
        if not slower or kinds[slower - 1] != core_model.KIND:
            return ""
        bound = _BOUND.match(answers[slower - 1].detail)
        return bound[1] if bound else ""

    return ToolAccess(ask, executes, named_bound, code_isa(campaign.isa))


def ungrouped_discoveries(campaign: Campaign, domain: BlockDomain) -> list[UngroupedDiscovery]:
    """The discoveries of a campaign that no other one covers and that its domain can express."""
    rows = campaign.discoveries.filter(subsumed_by=None, abstract__isnull=False).order_by("number")
    rows = rows.select_related("campaign").defer("foreign", "facts", "remarks", "note")
    discoveries = (ungrouped_discovery(row, domain) for row in rows)
    return [discovery for discovery in discoveries if discovery is not None]


def ungrouped_discovery(row: Discovery, domain: BlockDomain) -> UngroupedDiscovery | None:
    """A discovery with its witness; without one, the smallest block that it rests on, else a random block of
    it.

    None for a discovery that cannot be expressed here.
    """
    abstract = _read(row, domain)
    if abstract is None:
        return None
    code, kind = bytes(row.code), row.kind
    if not code or not kind:
        code, kind = _of_examples(row, code, kind)
    witness = domain.block_of_code(code) if code else None
    if witness is None:
        random = Random(f"witness/{row.number}")  # noqa: S311 nothing secret
        samples = (domain.sample(abstract, random) for _ in range(_ATTEMPTS))
        witness = next((block for block in samples if block is not None), None)
    if witness is None:
        return None
    return UngroupedDiscovery(row.number, abstract, witness, kind, row.concrete)


def _read(row: Discovery, domain: BlockDomain) -> AbstractBlock | None:
    """The abstract block, without constraints on µops where the domain lacks them; None where it cannot be
    expressed.
    """
    documents = [row.abstract or {}, *([without_uops(row.abstract)[0]] if row.abstract else [])]
    for document in documents:
        try:
            return domain.read(document)
        except AnicaError:
            continue
    return None


def _of_examples(row: Discovery, code: bytes, kind: str) -> tuple[bytes, str]:
    """Witness and kind of an imported discovery whose file has neither."""
    parts = DiscoveryParts(row)
    smallest = parts.smallest(parts.examples())
    if smallest is None:
        return code, kind or DIFFERENCE
    verdict_kind = smallest.verdict.kind if smallest.verdict is not None else ""
    return code or smallest.sample.code, kind or verdict_kind or DIFFERENCE


def own_disagreements(campaign: Campaign, domain: BlockDomain, judge: InterestJudge) -> JudgedDisagreements:
    """Disagreements among the random blocks of the campaign's rounds."""
    campaign.refresh_from_db(fields=["sampled"])  # the search updates the row alone
    sample_blocks = (domain.block_of_code(sample.code) for sample in interesting_samples(campaign, judge))
    blocks = islice((block for block in sample_blocks if block is not None), MAX_OWN_BLOCKS)
    return JudgedDisagreements(campaign.sampled, tuple(blocks), fresh=False)


def grouped_discoveries(
    campaign: Campaign,
    domain: BlockDomain,
    ask: Query,
    disagreements: JudgedDisagreements,
    questions: int,
    pulse: Callable[[], None] = lambda: None,
) -> CampaignFamilies:
    """The families of a campaign, whose discoveries are stored."""
    return families_of(
        domain,
        ungrouped_discoveries(campaign, domain),
        disagreements.blocks,
        cause_context(campaign, ask),
        [tool.name for tool in campaign.tools],
        questions,
        pulse=pulse,
    )


def earlier_campaign(campaign: Campaign, campaign_id: int | None) -> Campaign | None:
    """The campaign with this id, else the newest that fits, if any. Raises `JobError` for a deleted one."""
    if campaign_id is None:
        return campaign_before(campaign)
    return needed_row(Campaign, campaign_id, "earlier campaign")


@dataclass(frozen=True)
class CampaignGrouping:
    """The inputs of grouping.

    Attributes:
        against: Id of a campaign to compare with, None for the newest that fits.
        referee: Id of a predictor that judges, None without.
    """

    task: Task
    campaign: Campaign
    domain: BlockDomain
    panel: Panel
    judge: InterestJudge
    against: int | None = None
    referee: int | None = None

    def judged(self, number: int, phase: str) -> list[JudgedBlock]:
        """Verdicts on `number` fresh blocks."""

        def report(done: int) -> None:
            self.panel.flush()
            self.task.reporter.emit(Progress(phase, done, number, 0.0, "blocks", None))

        driver = Driver(self.domain, self.panel, self.judge)
        return judge_blocks(driver, fresh_blocks(self.domain, number), report)

    def grouped(self, judged: Sequence[JudgedBlock], questions: int) -> GroupedDiscoveries:
        """The families, weighed by the judged blocks, or without any by the campaign's own random blocks.

        Raises:
            JobError: The earlier campaign or the judge has been deleted.
        """
        against = earlier_campaign(self.campaign, self.against)
        referee = None if self.referee is None else needed_row(Predictor, self.referee)
        pulse = self.task.reporter.pulse
        ask = panel_query(self.panel, pulse)
        disagreements = self._disagreements(judged)
        families = grouped_discoveries(self.campaign, self.domain, ask, disagreements, questions, pulse)
        comparison: ComparedFamilies | None = None
        if against is not None:
            blocks = disagreements.blocks
            holding = FamilyComparison(against, self.domain, ask, self.judge, blocks, self.task)
            comparison = holding.compared(families.families)
        ruled = None if referee is None else self._referee_families(referee, families, judged)
        repeated = repeated_with_values(self.task, self.campaign, families, self.judge, ruled)
        return GroupedDiscoveries(families, disagreements, comparison, ruled, repeated)

    def _disagreements(self, judged: Sequence[JudgedBlock]) -> JudgedDisagreements:
        if not judged:
            return own_disagreements(self.campaign, self.domain, self.judge)
        blocks = tuple(block.block for block in judged if block.verdict.interesting)
        return JudgedDisagreements(len(judged), blocks, fresh=True)

    def _referee_families(
        self, referee: Predictor, families: CampaignFamilies, judged: Sequence[JudgedBlock]
    ) -> RefereedFamilies:
        isa, pulse = code_isa(self.campaign.isa), self.task.reporter.pulse
        with (
            closing(open_predictor(referee, self.task, isa=isa)) as tool,
            closing(Panel([tool], pulse)) as panel,
        ):
            tools = len(self.panel.predictors)
            return refereed(referee, panel_query(panel, pulse), families, judged, self.domain, tools)


class FamilyTracker:
    """The families of a running campaign, from its updates."""

    def __init__(self, domain: BlockDomain, tools: list[str]) -> None:
        self._domain = domain
        self._tools = tools
        self._members: dict[int, FamilyMember] = {}

    def seed(self, discoveries: Sequence[UngroupedDiscovery]) -> None:
        """Add the discoveries from before an interruption; their answers are not loaded."""
        for discovery in discoveries:
            self._add(discovery, ())

    def take(self, update: CampaignUpdate) -> bool:
        """Add an update; whether the families changed."""
        witnesses = [generalisation.candidate.witness for generalisation in update.generalised]
        answers: dict[bytes, Answers] = {witness.code: witness.answers for witness in witnesses}
        for discovery in update.discoveries:
            block = self._domain.block_of_code(discovery.code)
            if block is not None:
                number, kind, concrete = discovery.number, discovery.kind, discovery.concrete
                row = UngroupedDiscovery(number, discovery.abstract, block, kind, concrete)
                self._add(row, answers.get(discovery.code, ()))
        for special in update.subsumed or {}:
            self._members.pop(special, None)
        return bool(update.discoveries or update.subsumed)

    def _add(self, discovery: UngroupedDiscovery, answers: Answers) -> None:
        bound = DifferingBound.UNKNOWN if discovery.kind == DIFFERENCE else DifferingBound.FAILURE
        self._members[discovery.number] = FamilyMember(
            discovery.number,
            self._domain.code(discovery.witness),
            discovery.kind,
            len(discovery.witness),
            cause_or_guess(discovery, WitnessCause(bound, answers, slower_of(answers))),
            culprits_of(self._domain, discovery.abstract, discovery.witness),
        )

    def event(self) -> FamiliesEvent:
        """The families so far, those with the most discoveries first."""
        members = [self._members[number] for number in sorted(self._members)]
        rows = {member.number: row for row, member in enumerate(members)}
        no_blocks = np.zeros((len(members), 0), dtype=np.bool_)
        families = families_of_groups(group_members(members), no_blocks, rows, self._tools).families
        largest = sorted(families, key=lambda family: (-len(family.members), family.name))
        isa = self._domain.space.isa
        return FamiliesEvent(
            [
                PartialFamily(row.name, row.witness.code.hex(), len(row.members), row.predictions, isa=isa)
                for row in largest[:MAX_PARTIAL]
            ]
        )
