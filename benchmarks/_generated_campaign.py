"""A generated campaign, as large as wanted: real abstract blocks, expansions and code, made-up answers.

Blocks are sampled once and drawn from for all decisions. They have nothing in common within a decision, as
the samples of a real one do, so they take more space than those.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.blocks import SampledBlock
from anica_app.formats.campaign_values import (
    BatchValue,
    CampaignValue,
    DiscoveryValue,
    GeneralisationValue,
    PredictorValue,
    SpooledCampaign,
    StepValue,
)
from anica_app.models import Campaign, Family
from anica_app.storage.campaigns import store_campaign
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, pack

TOOLS = ("generated tool 1", "generated tool 2")
LONGEST = 5
_POOL = 5000
_TAKEN = 0.6
_FAILING = 0.01


@dataclass(frozen=True)
class Size:
    """How large: `decisions` per generalisation, `orders` of them per discovery, `samples` per decision.

    `batches`: how many different batches of samples the decisions are given; 0 for each its own, which takes
    a minute per million samples.
    """

    discoveries: int = 200
    decisions: int = 60
    samples: int = 100
    orders: int = 1
    rounds: int = 20
    pool: int = _POOL
    batches: int = 200


def generated_campaign(size: Size, name: str = "generated", seed: int = 1) -> Campaign:
    """Make and store it, in one transaction; its discoveries are families by their length."""
    campaign = store_campaign(_Making(size, seed).content(), name)
    for number, length in enumerate(range(1, LONGEST + 1)):
        rows = list(campaign.discoveries.filter(length=length).only("code"))
        if rows:
            made = Family.objects.create(
                campaign=campaign,
                number=number,
                name=f"blocks of {length}",
                bound="ports",
                kind="difference",
                slower=1,
                code=rows[0].code,
                predictions=[[2.0, 9.0], [1.0, 1.0]],
                covered=len(rows),
                own=len(rows),
                share=len(rows) / size.discoveries,
            )
            made.discoveries.set(rows)
    campaign.facts["families"] = {
        "judged": 2000,
        "disagreements": size.discoveries,
        "explained": size.discoveries,
        "by_ten": size.discoveries,
        "fresh": True,
        "questions": 0,
        "against": None,
        "judge": None,
    }
    campaign.save(update_fields=["facts"])
    return campaign


class _Making:
    def __init__(self, size: Size, seed: int) -> None:
        self._size = size
        self._random = random.Random(seed)
        self._domain = BlockDomain.of()
        self._pool = self._blocks()
        self._made: list[tuple[bytes, int]] = []
        self._content = SpooledCampaign(
            CampaignValue(
                origin="run",
                rounds=size.rounds,
                sampled=size.rounds * size.samples,
                interesting=size.discoveries,
                seconds=600.0,
            ),
            predictors=[
                PredictorValue(name=tool, kind="generated", identity={"name": tool}) for tool in TOOLS
            ],
        )

    def content(self) -> SpooledCampaign:
        """All of it, their samples in a temporary file."""
        size = self._size
        for number in range(size.discoveries):
            block = self._random.choice(self._pool)
            for order in range(size.orders):
                result, mean = self._generalisation(number * size.orders + order, order, number, block)
            self._content.discoveries.append(self._discovery(number, block, result, mean))
        for number in range(size.rounds):
            packed, interesting = self._packed(taken=False)
            batch = BatchValue(number=number, n=size.samples, interesting=interesting)
            batch.samples = self._content.spool.keep(packed, size.samples)
            self._content.batches.append(batch)
        return self._content

    def _blocks(self) -> Sequence[SampledBlock]:
        lengths = range(1, LONGEST + 1)
        free = [self._domain.unconstrained(length) for length in lengths]
        drawn = (self._domain.sample(self._random.choice(free), self._random) for _ in range(self._size.pool))
        return [block for block in drawn if block is not None]

    def _discovery(
        self, number: int, block: SampledBlock, result: AbstractBlock, mean: float
    ) -> DiscoveryValue:
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

    def _generalisation(
        self, number: int, order: int, discovery: int, block: SampledBlock
    ) -> tuple[AbstractBlock, float]:
        start = now = self._domain.represent(block)
        steps = [self._step(0, None, taken=True)]
        for at in range(1, self._size.decisions + 1):
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
                order=order,
                became="duplicate" if order else "discovery",
                code=block.code,
                start=self._domain.document(start),
                result=self._domain.document(now),
                steps_count=len(steps) - 1,
                taken_count=sum(step.taken for step in steps[1:]),
                samples_count=sum(step.n for step in steps),
                discovery=discovery,
                steps=steps,
            )
        )
        return now, steps[-1].mean or 0.0

    def _step(self, number: int, expansion: object, *, taken: bool) -> StepValue:
        packed, interesting = self._packed(taken=taken)
        return StepValue(
            number=number,
            kind="expansion" if expansion else "start",
            expansion=expansion,
            taken=taken,
            reason="all interesting" if taken else "not all interesting",
            n=self._size.samples,
            interesting=interesting,
            mean=0.5 + self._random.random(),
            samples=self._content.spool.keep(packed, self._size.samples),
        )

    def _packed(self, *, taken: bool) -> tuple[bytes, int]:
        """Samples as they are stored, and how many of them are interesting: all where `taken`."""
        wanted = self._made[taken::2]
        if self._size.batches and len(wanted) * 2 >= self._size.batches:
            return self._random.choice(wanted)
        found = []
        for all_interesting in (False, True):
            samples, interesting = self._samples(all_interesting=all_interesting)
            found.append((pack(samples), interesting))
        if self._size.batches:
            self._made += found
        return found[taken]

    def _samples(self, *, all_interesting: bool) -> tuple[list[Sample], int]:
        """Blocks with answers, and how many of them differ."""
        found = []
        interesting = 0
        for block in self._random.choices(self._pool, k=self._size.samples):
            differs = all_interesting or self._random.random() < 0.5
            interesting += differs
            found.append(Sample(block.code, self._answers(differs=differs)))
        return found, interesting

    def _answers(self, *, differs: bool) -> tuple[Answer, ...]:
        first = self._random.randint(25, 3000) / 100
        if self._random.random() < _FAILING:
            return Answer(cycles=first), Answer(
                failure=Failure.CRASH, detail="Stack dump: 0. Program arguments"
            )
        return Answer(cycles=first), Answer(cycles=round(first * (2.5 if differs else 1.0), 2))
