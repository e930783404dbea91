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
from anica_app.core.search.interestingness import JudgedBlock
from anica_app.core.search.search_tasks import SearchContext, Task

_LEAST_DECIDED = 0.5
"""This share of its samples must have answers at least for an abstract block to be interesting."""


def is_like(world: SearchContext, judged: JudgedBlock, other: JudgedBlock) -> bool:
    """Whether a block is interesting in the way that the other one is."""
    same_kind = not world.settings.kinds_apart or judged.verdict.kind == other.verdict.kind
    return judged.verdict.interesting and same_kind


def is_counterexample(world: SearchContext, judged: JudgedBlock, model: JudgedBlock) -> bool:
    """Whether a sample shows that not all blocks are interesting in the way of the model."""
    return not judged.verdict.silent and not is_like(world, judged, model)


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
    samples: tuple[JudgedBlock, ...] = ()
    failed: int = 0

    @property
    def interesting(self) -> bool:
        return self.reason in (InterestReason.ALL, InterestReason.SAME)

    @property
    def mean_interest(self) -> float:
        """How interesting its samples are on average: `math.inf` for failures, 0 without samples."""
        values = [judged.verdict.value for judged in self.samples]
        return math.fsum(values) / len(values) if values else 0.0


class SamplingChecker:
    """Judges by random samples, and remembers what it saw while one block is generalised.

    With `share_evidence`, a block that was not interesting refutes every other abstract block that
    represents it, in all orders of expansions; it is then the one sample of that check. Where exceptions are
    forgiven, it takes one more than are. An abstract block that several orders come to is judged once.
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
        """Samples look by look, until one is not interesting in the way of the block that is generalised.

        Of an expanded abstract block, the share `new_share` of them is of what the expansion has added: all
        else has been looked at, and what is rare would hardly be seen among it.
        """
        batch_sizes = self._world.settings.batch_sizes()
        remembered = self._recall(abstract, self._checks, sum(batch_sizes))
        if remembered is not None:
            return remembered
        check = yield from self._sample_batches(abstract, before, batch_sizes, self._world.random(*path))
        self._checks[abstract] = self._record(check)
        return check

    def confirm(self, abstract: AbstractBlock, path: Sequence[object]) -> Task[AbstractCheck]:
        """Look at a result once more, at all that it represents; what speaks against it is remembered."""
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
        """What is known of it: as many blocks against it as so many samples may not have, or its check."""
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
        return counterexamples > allowed or decided < _LEAST_DECIDED * len(so_far)

    def _draw(
        self, abstract: AbstractBlock, before: AbstractBlock | None, number: int, random: Random
    ) -> tuple[dict[bytes, SampledBlock], int, bool]:
        """So many random blocks by their code, how many attempts failed, and whether it gave up."""
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
