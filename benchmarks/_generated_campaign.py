"""A generated campaign, as large as wanted: real abstract blocks, expansions and code, made-up answers.

Blocks are sampled once and drawn from for all decisions. They have nothing in common within a decision, as
the samples of a real one do, so they take more space than those.
"""

from __future__ import annotations

import math
import random

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import SampledBlock
from anica_app.formats.campaign_values import (
    BatchValue,
    CampaignValue,
    DiscoveryValue,
    GeneralisationValue,
    PredictorValue,
    SpooledCampaign,
    StepValue,
)
from anica_app.models import Campaign
from anica_app.storage.campaigns import store_campaign
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, pack

TOOLS = ("generated tool 1", "generated tool 2")
MAX_LENGTH = 5  # instructions of a block
SAMPLES = 100
"""Of a decision, and of a round."""

_BLOCKS, _ROUNDS = 1000, 20
_BATCHES = 100
"""Different batches of samples that decisions are given, of either kind: each its own would take minutes."""

_TAKEN = 0.6  # share of expansions that keep the blocks interesting
_FAILING = 0.01  # share of answers that are errors


def generated_campaign(discoveries: int, decisions: int = 60, name: str = "generated") -> Campaign:
    """Make and store it, in one transaction, with so many decisions of each generalisation.

    Its discoveries are families by their length.
    """
    campaign = store_campaign(_Making(discoveries, decisions).content(), name)
    for number, length in enumerate(range(1, MAX_LENGTH + 1)):
        rows = list(campaign.discoveries.filter(length=length).only("code"))
        if rows:
            about = {"bound": "ports", "kind": "difference", "slower": 1, "code": rows[0].code}
            shares = {"covered": len(rows), "own": len(rows), "share": len(rows) / discoveries}
            family = campaign.families.create(
                number=number,
                name=f"blocks of {length}",
                predictions=[[2.0, 9.0], [1.0, 1.0]],
                **about,
                **shares,
            )
            family.discoveries.set(rows)
    counts = dict.fromkeys(("disagreements", "explained", "by_ten"), discoveries)
    others = {"judged": 2000, "fresh": True, "questions": 0, "against": None, "judge": None}
    campaign.facts["families"] = {**counts, **others}
    campaign.save(update_fields=["facts"])
    return campaign


class _Making:
    """A campaign while it is made; the same for the same numbers of discoveries and decisions."""

    def __init__(self, discoveries: int, decisions: int) -> None:
        self._discoveries, self._decisions = discoveries, decisions
        self._random = random.Random(1)
        self._domain = BlockDomain.of()
        free = [self._domain.unconstrained(length) for length in range(1, MAX_LENGTH + 1)]
        blocks = (self._domain.sample(self._random.choice(free), self._random) for _ in range(_BLOCKS))
        self._blocks = [block for block in blocks if block is not None]
        self._batches = {differ: [self._batch(differ) for _ in range(_BATCHES)] for differ in (False, True)}
        campaign = CampaignValue(
            origin="run",
            rounds=_ROUNDS,
            sampled=_ROUNDS * SAMPLES,
            interesting=discoveries,
            seconds=600.0,
        )
        tools = [PredictorValue(name=tool, kind="generated", identity={"name": tool}) for tool in TOOLS]
        self._content = SpooledCampaign(campaign, predictors=tools)

    def content(self) -> SpooledCampaign:
        """All of it, their samples in a temporary file."""
        for number in range(self._discoveries):
            block = self._random.choice(self._blocks)
            self._content.discoveries.append(self._discovery(number, block))
        for number in range(_ROUNDS):
            packed, interesting = self._random.choice(self._batches[False])
            batch = BatchValue(number=number, n=SAMPLES, interesting=interesting)
            batch.samples = self._content.spool.keep(packed, SAMPLES)
            self._content.batches.append(batch)
        return self._content

    def _discovery(self, number: int, block: SampledBlock) -> DiscoveryValue:
        """A discovery from a block; every tenth is one that a single tool answers, of infinite interest."""
        result, mean = self._generalisation(number, block)
        return DiscoveryValue(
            number=number,
            abstract=self._domain.document(result),
            code=block.code,
            start_code=block.code,
            kind="difference",
            length=len(block),
            interestingness=math.inf if number % 10 == 9 else mean,
            generality=self._domain.generality(result),
        )

    def _generalisation(self, number: int, block: SampledBlock) -> tuple[AbstractBlock, float]:
        """Generalise a block by random expansions, keep the steps: (result, mean interest of the last)."""
        start = now = self._domain.represent(block)
        steps = [self._step(0, None, taken=True)]
        for at in range(1, self._decisions + 1):
            possible = self._domain.expansions(now)
            if not possible:
                break
            expansion = self._random.choice(possible)
            taken = self._random.random() < _TAKEN
            steps.append(self._step(at, self._domain.expansion_document(expansion), taken=taken))
            if taken:
                now = self._domain.expand(now, expansion)
        self._content.generalisations.append(
            GeneralisationValue(
                number=number,
                order=0,
                became="discovery",
                code=block.code,
                start=self._domain.document(start),
                result=self._domain.document(now),
                steps_count=len(steps) - 1,
                taken_count=sum(step.taken for step in steps[1:]),
                samples_count=sum(step.n for step in steps),
                discovery=number,
                steps=steps,
            )
        )
        return now, steps[-1].mean or 0.0

    def _step(self, number: int, expansion: object, *, taken: bool) -> StepValue:
        """A step with the samples of a random batch that fits its outcome."""
        packed, interesting = self._random.choice(self._batches[taken])
        return StepValue(
            number=number,
            kind="expansion" if expansion else "start",
            expansion=expansion,
            taken=taken,
            reason="all interesting" if taken else "not all interesting",
            n=SAMPLES,
            interesting=interesting,
            mean=0.5 + self._random.random(),
            samples=self._content.spool.keep(packed, SAMPLES),
        )

    def _batch(self, all_differ: bool) -> tuple[bytes, int]:
        """Samples as they are stored, and how many of them are interesting."""
        samples = []
        interesting = 0
        for block in self._random.choices(self._blocks, k=SAMPLES):
            differs = all_differ or self._random.random() < 0.5
            interesting += differs
            samples.append(Sample(block.code, self._answers(differs=differs)))
        return pack(samples), interesting

    def _answers(self, *, differs: bool) -> tuple[Answer, ...]:
        first = self._random.randint(25, 3000) / 100
        if self._random.random() < _FAILING:
            return Answer(cycles=first), Answer(
                failure=Failure.CRASH, detail="Stack dump: 0. Program arguments"
            )
        return Answer(cycles=first), Answer(cycles=round(first * (2.5 if differs else 1.0), 2))
