"""Decides whether an abstract block is interesting: all its random samples must be, except for exceptions
(§8.1.3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import SampledBlock
from anica_app.core.search.interestingness import JudgedBlock
from anica_app.core.search.search_tasks import SearchContext, Task

_MIN_DECIDED_SHARE = 0.5
"""Share of the samples that must have a verdict; with fewer the abstract block does not count as
interesting.
"""


def is_like(world: SearchContext, judged: JudgedBlock, other: JudgedBlock) -> bool:
    """Whether a block is interesting in the same way as the other one."""
    same_kind = not world.settings.kinds_apart or judged.verdict.kind == other.verdict.kind
    return judged.verdict.interesting and same_kind


def is_counterexample(world: SearchContext, judged: JudgedBlock, model: JudgedBlock) -> bool:
    """Whether a sample refutes that all blocks are interesting in the way of the model."""
    return not judged.verdict.silent and not is_like(world, judged, model)


class InterestReason(StrEnum):
    """Why an abstract block counts as interesting, or not."""

    ALL = "all"
    """All samples were interesting, except for allowed exceptions and a few without a verdict."""
    SAMPLE = "sample"
    """More samples than allowed were not interesting or in another way, or too few had a verdict."""
    KNOWN = "known"
    """It represents blocks that an earlier check found not to be interesting."""
    SAME = "same"
    """It represents the same blocks as before: the dropped constraint was implied by others."""
    EMPTY = "empty"
    """No block could be sampled."""


@dataclass(frozen=True, slots=True)
class AbstractCheck:
    """The check of an abstract block, with its samples, each once.

    `failed` counts attempts at sampling that failed.
    """

    reason: InterestReason
    samples: tuple[JudgedBlock, ...] = ()
    failed: int = 0

    @property
    def interesting(self) -> bool:
        return self.reason in (InterestReason.ALL, InterestReason.SAME)

    @property
    def mean_interest(self) -> float:
        """Mean interestingness of the samples: `math.inf` with a failure that counts, 0 without samples."""
        values = [judged.verdict.value for judged in self.samples]
        return math.fsum(values) / len(values) if values else 0.0


class SamplingChecker:
    """Checks abstract blocks by random samples, and shares evidence while one block is generalised.

    With `share_evidence`, a sample that is not interesting refutes every other abstract block that represents
    it, in all orders of expansions; that check then has this one sample, or one more than the allowed
    exceptions. An abstract block that several orders reach is checked once.
    """

    def __init__(self, world: SearchContext, model: JudgedBlock) -> None:
        self._world = world
        self._model = model
        self._counterexamples: list[JudgedBlock] = []
        self._checks: dict[AbstractBlock, AbstractCheck] = {}
        self._confirmations: dict[AbstractBlock, AbstractCheck] = {}

    def check(
        self, abstract: AbstractBlock, path: Sequence[object], before: AbstractBlock | None = None
    ) -> Task[AbstractCheck]:
        """Sample in batches until a sample refutes the abstract block.

        Of an expanded abstract block, the share `new_share` of the samples is of what the expansion added:
        the rest has been sampled before, and rare blocks would hardly occur among it.

        Args:
            abstract: The block to check.
            path: Names the source of randomness (`SearchContext.random`).
            before: The abstract block that was expanded; None for a start.
        """
        batch_sizes = self._world.settings.batch_sizes()
        remembered = self._recall(abstract, self._checks, sum(batch_sizes))
        if remembered is not None:
            return remembered
        check = yield from self._sample_batches(abstract, before, batch_sizes, self._world.random(*path))
        self._checks[abstract] = self._record(check)
        return check

    def confirm(self, abstract: AbstractBlock, path: Sequence[object]) -> Task[AbstractCheck]:
        """Sample a result once more, over all that it represents; samples that refute it are remembered."""
        batch_sizes = [self._world.settings.confirming]
        remembered = self._recall(abstract, self._confirmations, sum(batch_sizes))
        if remembered is not None:
            return remembered
        check = yield from self._sample_batches(abstract, None, batch_sizes, self._world.random(*path))
        self._confirmations[abstract] = self._record(check)
        return check

    def _recall(
        self, abstract: AbstractBlock, checks: dict[AbstractBlock, AbstractCheck], samples: int
    ) -> AbstractCheck | None:
        """A refutation by remembered samples, else the earlier check; None without either."""
        if not self._world.settings.share_evidence:
            return None
        contains, settings = self._world.domain.contains, self._world.settings
        enough = settings.allowed_exceptions(samples) + 1
        counterexamples = (judged for judged in self._counterexamples if contains(abstract, judged.block))
        refuting = tuple(itertools.islice(counterexamples, enough))
        is_refuted = len(refuting) >= enough
        return AbstractCheck(InterestReason.KNOWN, refuting) if is_refuted else checks.get(abstract)

    def _record(self, check: AbstractCheck) -> AbstractCheck:
        if check.reason is InterestReason.SAMPLE:
            world, model = self._world, self._model
            refuting = (judged for judged in check.samples if is_counterexample(world, judged, model))
            self._counterexamples.extend(refuting)
        return check

    def _sample_batches(
        self, abstract: AbstractBlock, before: AbstractBlock | None, sizes: Sequence[int], random: Random
    ) -> Task[AbstractCheck]:
        """Sample and judge batch by batch, and stop once too many samples are not interesting."""
        samples: dict[bytes, JudgedBlock] = {}
        failed = 0
        for size in sizes:
            blocks, attempts, gave_up = self._draw(abstract, before, size, random)
            failed += attempts
            new_blocks = [block for code, block in blocks.items() if code not in samples]
            if new_blocks:
                judged = yield new_blocks
                samples |= {answers.code: answers for answers in judged}
                if self._is_refuted(samples.values(), sum(sizes)):
                    return AbstractCheck(InterestReason.SAMPLE, tuple(samples.values()), failed)
            if gave_up:
                break
        reason = InterestReason.ALL if samples else InterestReason.EMPTY
        if self._is_refuted(samples.values(), len(samples)):  # there are fewer of them than were wanted
            reason = InterestReason.SAMPLE
        return AbstractCheck(reason, tuple(samples.values()), failed)

    def _is_refuted(self, so_far: Collection[JudgedBlock], planned: int) -> bool:
        decided = sum(not judged.verdict.silent for judged in so_far)
        counterexamples = sum(is_counterexample(self._world, judged, self._model) for judged in so_far)
        allowed = self._world.settings.allowed_exceptions(planned)
        return counterexamples > allowed or decided < _MIN_DECIDED_SHARE * len(so_far)

    def _draw(
        self, abstract: AbstractBlock, before: AbstractBlock | None, number: int, random: Random
    ) -> tuple[dict[bytes, SampledBlock], int, bool]:
        """Random blocks by their code, the number of failed attempts, and whether a block was given up."""
        domain, settings = self._world.domain, self._world.settings
        blocks: dict[bytes, SampledBlock] = {}
        failed = 0
        share = settings.new_share
        for index in range(number):
            is_new = before is not None and int((index + 1) * share) > int(index * share)
            block = domain.sample_new(before, abstract, random) if is_new and before is not None else None
            attempts = 0
            while block is None and attempts < settings.attempts:
                block = domain.sample(abstract, random)
                attempts += block is None
            failed += attempts
            if block is None:
                return blocks, failed, True
            blocks[domain.code(block)] = block
        return blocks, failed, False
