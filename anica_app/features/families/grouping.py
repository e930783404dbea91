"""Families of a stored campaign: its discoveries, its disagreements, and how its tools are asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.blocks import SampledBlock
from anica_app.core.errors import AnicaError
from anica_app.core.every_scheme import without_uops
from anica_app.core.families.evidence import Answers, Ask, CauseWorld, slower_of
from anica_app.core.families.finding import CampaignFamilies, KnownDiscovery, families_of
from anica_app.core.search.judging import DIFFERENCE, InterestJudge
from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.features.families.carrying import ComparedFamilies
from anica_app.features.families.referee import RefereedFamilies
from anica_app.models import Campaign, Discovery, SampleBatch
from inference.core.protocols import Json
from inference.predictors import core_model, machine, nanobench
from inference.predictors.panel import Panel
from inference.predictors.samples import unpack

SHARE_OF_QUESTIONS = 0.2
"""Of the questions that a campaign has asked: so many more at most tell the causes."""
MOST_OWN = 2000
"""Of a campaign's own disagreements that are looked at where no fresh block was judged."""

_PIECE = 500
_ATTEMPTS = 20
_BOUND = re.compile(r"bound by (ports|slots|dependencies|front end):")


@dataclass(frozen=True)
class JudgedDisagreements:
    """The blocks by which families are weighed: so many were judged, about these the tools disagree.

    `fresh`: they played no part in the search.
    """

    judged: int
    blocks: tuple[SampledBlock, ...]
    fresh: bool


@dataclass(frozen=True)
class GroupedDiscoveries:
    """What the stage comes to: the families, by which blocks, and what others say of them."""

    families: CampaignFamilies
    disagreements: JudgedDisagreements
    compared: ComparedFamilies | None = None
    refereed: RefereedFamilies | None = None
    repeated: Mapping[int, Sequence[Json]] = field(default_factory=dict)
    """By the numbers of discoveries, what machines measured of their witnesses with other values."""


def asking(panel: Panel, pulse: Callable[[], None] = lambda: None) -> Ask:
    """Ask all tools, piece by piece; answers are kept on the way, so that nobody asks twice."""

    def ask(codes: Sequence[bytes]) -> list[Answers]:
        found: list[Answers] = []
        for begin in range(0, len(codes), _PIECE):
            found += panel.ask(codes[begin : begin + _PIECE])()
            panel.flush()
            pulse()
        return found

    return ask


def world_of_causes(campaign: Campaign, ask: Ask) -> CauseWorld:
    """What finding causes needs to know of a campaign's tools (one query)."""
    kinds = [tool.kind for tool in campaign.tools]
    executes = any(kind in (machine.KIND, nanobench.KIND) for kind in kinds)

    def said(answers: Answers) -> str:
        """The bound that a core model names, where that is what the other tool lacks."""
        slower = slower_of(answers)
        if not slower or kinds[slower - 1] != core_model.KIND:
            return ""
        found = _BOUND.match(answers[slower - 1].detail)
        return found[1] if found else ""

    return CauseWorld(ask, executes, said)


def known_discoveries(campaign: Campaign, domain: BlockDomain) -> list[KnownDiscovery]:
    """Those of a campaign that no other one covers, as far as our words and the domain's schemes suffice."""
    rows = campaign.discoveries.filter(subsumed_by=None, abstract__isnull=False).order_by("number")
    rows = rows.select_related("campaign").defer("foreign", "facts", "remarks", "note")
    found = (known_discovery(row, domain) for row in rows)
    return [one for one in found if one is not None]


def known_discovery(row: Discovery, domain: BlockDomain) -> KnownDiscovery | None:
    """With its witness; without one the smallest block that it rests on, else a random block of it.

    None for one that we cannot read.
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
        drawn = (domain.sample(abstract, random) for _ in range(_ATTEMPTS))
        witness = next((block for block in drawn if block is not None), None)
    if witness is None:
        return None
    return KnownDiscovery(row.number, abstract, witness, kind, row.concrete)


def _read(row: Discovery, domain: BlockDomain) -> AbstractBlock | None:
    """Of a domain that knows no numbers of µops, without what is said of these; None where words lack."""
    documents = [row.abstract or {}, *([without_uops(row.abstract)[0]] if row.abstract else [])]
    for document in documents:
        try:
            return domain.read(document)
        except AnicaError:
            continue
    return None


def _of_examples(row: Discovery, code: bytes, kind: str) -> tuple[bytes, str]:
    """Witness and kind of a discovery that came with a file, which says neither."""
    parts = DiscoveryParts(row)
    smallest = parts.smallest(parts.examples())
    if smallest is None:
        return code, kind or DIFFERENCE
    said = smallest.verdict.kind if smallest.verdict is not None else ""
    return code or smallest.sample.code, kind or said or DIFFERENCE


def own_disagreements(campaign: Campaign, domain: BlockDomain, judge: InterestJudge) -> JudgedDisagreements:
    """Those among the random blocks that the campaign began with."""
    blocks = tuple(islice(_interesting(campaign, domain, judge), MOST_OWN))
    return JudgedDisagreements(campaign.sampled, blocks, fresh=False)


def _interesting(campaign: Campaign, domain: BlockDomain, judge: InterestJudge) -> Iterator[SampledBlock]:
    rounds = campaign.batches.filter(purpose=SampleBatch.Purpose.ROUND).order_by("number")
    for packed in rounds.values_list("samples", flat=True).iterator(20):
        for sample in unpack(bytes(packed)):
            if judge.verdict(sample.answers).interesting:
                block = domain.block_of_code(sample.code)
                if block is not None:
                    yield block


def grouped_discoveries(
    campaign: Campaign,
    domain: BlockDomain,
    ask: Ask,
    disagreements: JudgedDisagreements,
    questions: int,
    pulse: Callable[[], None] = lambda: None,
) -> CampaignFamilies:
    """The families of a campaign whose discoveries are stored."""
    return families_of(
        domain,
        known_discoveries(campaign, domain),
        disagreements.blocks,
        world_of_causes(campaign, ask),
        [tool.name for tool in campaign.tools],
        questions,
        pulse=pulse,
    )
