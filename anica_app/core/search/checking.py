"""Whether an abstract block is interesting: all its random samples must be, but for exceptions (§8.1.3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import SampledBlock
from anica_app.core.search.judging import JudgedAnswers
from anica_app.core.search.panel import Task, World

_LEAST_KNOWN = 0.5
"""This share of its samples must have answers at least for an abstract block to be interesting."""


def alike(world: World, judged: JudgedAnswers, other: JudgedAnswers) -> bool:
    """Whether a block is interesting in the way that the other one is."""
    same_kind = not world.settings.kinds_apart or judged.verdict.kind == other.verdict.kind
    return judged.verdict.interesting and same_kind


def speaks_against(world: World, judged: JudgedAnswers, model: JudgedAnswers) -> bool:
    """Whether a sample shows that not all blocks are interesting in the way of the model."""
    return not judged.verdict.silent and not alike(world, judged, model)


class InterestReason(StrEnum):
    """Why an abstract block was found interesting, or not."""

    ALL = "all"
    """All samples were interesting, but for exceptions, and for a few of which nobody knows."""
    SAMPLE = "sample"
    """More than are forgiven were not, or in another way than the block; or of too few anybody knows."""
    KNOWN = "known"
    """It represents blocks that were seen to be not interesting when something else was checked."""
    SAME = "same"
    """It represents the same blocks as before: a constraint went that others imply, or was split."""
    EMPTY = "empty"
    """No block could be sampled."""


@dataclass(frozen=True, slots=True)
class AbstractCheck:
    """An abstract block judged: by which blocks, each once, however often it was drawn.

    `failed` counts the attempts at sampling that came to nothing.
    """

    reason: InterestReason
    samples: tuple[JudgedAnswers, ...] = ()
    failed: int = 0

    @property
    def interesting(self) -> bool:
        return self.reason in (InterestReason.ALL, InterestReason.SAME)

    @property
    def mean(self) -> float:
        """How interesting its samples are on average: `math.inf` for failures, 0 without samples."""
        values = [judged.verdict.value for judged in self.samples]
        return math.fsum(values) / len(values) if values else 0.0


class SamplingChecker:
    """Judges by random samples, and remembers what it saw while one block is generalised.

    With `share_evidence`, a block that was not interesting refutes every other abstract block that
    represents it, in all orders of expansions; it is then the one sample of that check. Where exceptions are
    forgiven, it takes one more than are. An abstract block that several orders come to is judged once.
    """

    def __init__(self, world: World, model: JudgedAnswers) -> None:
        self._world = world
        self._model = model
        self._against: list[JudgedAnswers] = []
        self._known: dict[AbstractBlock, AbstractCheck] = {}
        self._confirmed: dict[AbstractBlock, AbstractCheck] = {}

    def check(
        self, abstract: AbstractBlock, path: Sequence[object], before: AbstractBlock | None = None
    ) -> Task[AbstractCheck]:
        """Samples look by look, until one is not interesting in the way of the block that is generalised.

        Of an expanded abstract block, the share `new_share` of them is of what the expansion has added: all
        else has been looked at, and what is rare would hardly be seen among it.
        """
        looks = self._world.settings.looks()
        known = self._remembered(abstract, self._known, sum(looks))
        if known is not None:
            return known
        check = yield from self._sampled(abstract, before, looks, self._world.random(*path))
        self._known[abstract] = self._learnt(check)
        return check

    def confirm(self, abstract: AbstractBlock, path: Sequence[object]) -> Task[AbstractCheck]:
        """Look at a result once more, at all that it represents; what speaks against it is remembered."""
        looks = [self._world.settings.confirming]
        known = self._remembered(abstract, self._confirmed, sum(looks))
        if known is not None:
            return known
        check = yield from self._sampled(abstract, None, looks, self._world.random(*path))
        self._confirmed[abstract] = self._learnt(check)
        return check

    def _remembered(
        self, abstract: AbstractBlock, checks: dict[AbstractBlock, AbstractCheck], samples: int
    ) -> AbstractCheck | None:
        """What is known of it: as many blocks against it as so many samples may not have, or its check."""
        if not self._world.settings.share_evidence:
            return None
        contains, settings = self._world.domain.contains, self._world.settings
        enough = settings.forgiven(samples) + 1
        speaking = (one for one in self._against if contains(abstract, one.block))
        found = tuple(itertools.islice(speaking, enough))
        return checks.get(abstract) if len(found) < enough else AbstractCheck(InterestReason.KNOWN, found)

    def _learnt(self, check: AbstractCheck) -> AbstractCheck:
        if check.reason is InterestReason.SAMPLE:
            world, model = self._world, self._model
            self._against.extend(one for one in check.samples if speaks_against(world, one, model))
        return check

    def _sampled(
        self, abstract: AbstractBlock, before: AbstractBlock | None, looks: Sequence[int], random: Random
    ) -> Task[AbstractCheck]:
        samples: dict[bytes, JudgedAnswers] = {}
        failed = 0
        for look in looks:
            drawn, attempts, gave_up = self._draw(abstract, before, look, random)
            failed += attempts
            fresh = [block for code, block in drawn.items() if code not in samples]
            if fresh:
                judged = yield fresh
                samples |= {one.code: one for one in judged}
                if self._is_refuted(samples.values(), sum(looks)):
                    return AbstractCheck(InterestReason.SAMPLE, tuple(samples.values()), failed)
            if gave_up:
                break
        reason = InterestReason.ALL if samples else InterestReason.EMPTY
        if self._is_refuted(samples.values(), len(samples)):  # there are fewer of them than were wanted
            reason = InterestReason.SAMPLE
        return AbstractCheck(reason, tuple(samples.values()), failed)

    def _is_refuted(self, so_far: Collection[JudgedAnswers], planned: int) -> bool:
        known = sum(not one.verdict.silent for one in so_far)
        against = sum(speaks_against(self._world, one, self._model) for one in so_far)
        return against > self._world.settings.forgiven(planned) or known < _LEAST_KNOWN * len(so_far)

    def _draw(
        self, abstract: AbstractBlock, before: AbstractBlock | None, number: int, random: Random
    ) -> tuple[dict[bytes, SampledBlock], int, bool]:
        """So many random blocks by their code, how many attempts failed, and whether it gave up."""
        domain, settings = self._world.domain, self._world.settings
        drawn: dict[bytes, SampledBlock] = {}
        failed = 0
        for one in range(number):
            new = before is not None and int((one + 1) * settings.new_share) > int(one * settings.new_share)
            block = domain.sample_new(before, abstract, random) if new and before is not None else None
            attempts = 0
            while block is None and attempts < settings.attempts:
                block = domain.sample(abstract, random)
                attempts += block is None
            failed += attempts
            if block is None:
                return drawn, failed, True
            drawn[domain.code(block)] = block
        return drawn, failed, False
