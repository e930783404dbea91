"""Samples fresh random blocks, minimises them, and generalises them to abstract blocks (Algorithm 8.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from anica_app.core.domain.abstract import AbstractBlock, Expansion
from anica_app.core.domain.space import SampledBlock
from anica_app.core.search.abstract_check import AbstractCheck, InterestReason, SamplingChecker, is_like
from anica_app.core.search.interestingness import JudgedBlock
from anica_app.core.search.search_tasks import Driver, SearchContext, Task, TimeIsUp

_MAX_ATTEMPTS = 5
"""Attempts at a generalisation whose result is not confirmed; each shares the evidence of the earlier
ones.
"""


@dataclass(frozen=True)
class FreshBlocks:
    """Judged random blocks by their places; `failed` counts attempts at sampling that failed.

    A place has no block where all attempts failed.
    """

    blocks: Mapping[int, JudgedBlock]
    failed: int


def sample_fresh(world: SearchContext, driver: Driver, places: Iterable[int]) -> FreshBlocks:
    """The random blocks at these places, of 1 to `longest` instructions.

    Each depends on the seed and its place alone.
    """
    domain, settings = world.domain, world.settings
    sampled: dict[int, SampledBlock] = {}
    failed = 0
    for place in places:
        random = world.random("sample", place)
        unconstrained = domain.unconstrained(random.randint(1, settings.longest))
        for _ in range(settings.attempts):
            block = domain.sample(unconstrained, random)
            if block is not None:
                sampled[place] = block
                break
            failed += 1
    judged = driver.judge(list(sampled.values()))
    return FreshBlocks(dict(zip(sampled, judged, strict=True)), failed)


def minimise_all(world: SearchContext, driver: Driver, fresh: FreshBlocks) -> list[RoundCandidate]:
    """The interesting blocks in the order of their places, each minimised."""
    starts = [(place, start) for place, start in fresh.blocks.items() if start.verdict.interesting]
    witnesses = driver.run([minimise(world, start, ("minimise", place)) for place, start in starts])
    return [
        RoundCandidate(place, start, witness, world.domain.represent(witness.block))
        for (place, start), witness in zip(starts, witnesses, strict=True)
        if witness is not None
    ]


def minimise(world: SearchContext, judged: JudgedBlock, path: Sequence[object]) -> Task[JudgedBlock]:
    """Remove instructions from an interesting block, one at a time, while it stays interesting.

    Each step judges all blocks with one instruction less together, and continues with the first interesting
    one in a random order. With `kinds_apart` it must be interesting in the same way.
    """
    random = world.random(*path)
    while len(judged.block) > 1:
        positions = list(range(len(judged.block)))
        random.shuffle(positions)
        shorter = yield [world.domain.without(judged.block, position) for position in positions]
        smaller = next((candidate for candidate in shorter if is_like(world, candidate, judged)), None)
        if smaller is None:
            break
        judged = smaller
    return judged


@dataclass(frozen=True, slots=True)
class RoundCandidate:
    """An interesting block of a round: as sampled, as minimised, and what represents the latter.

    `place` is the number of fresh blocks that were sampled before it.
    """

    place: int
    start: JudgedBlock
    witness: JudgedBlock
    abstract: AbstractBlock

    @property
    def kind(self) -> str:
        """Kind of interestingness; see `BlockInterest.kind`."""
        return self.witness.verdict.kind


@dataclass(frozen=True, slots=True)
class GeneralisingStep:
    """A tried expansion, and the check that decided whether it was accepted."""

    expansion: Expansion
    check: AbstractCheck

    @property
    def accepted(self) -> bool:
        return self.check.interesting


@dataclass(frozen=True, slots=True)
class GeneralisingTrace:
    """One generalisation, from the representation (β) of the block to the `result`.

    It begins with `start` and goes on by accepted expansions.

    `start_check`: the check of the start. Where that is not interesting there are no steps, and the result is
    concrete.
    """

    order: int
    start: AbstractBlock
    start_check: AbstractCheck
    steps: tuple[GeneralisingStep, ...]
    result: AbstractBlock

    @property
    def concrete(self) -> bool:
        """Whether only the concrete block is known to be interesting."""
        return not self.start_check.interesting

    @property
    def result_check(self) -> AbstractCheck:
        sampled = (step.check for step in reversed(self.steps) if step.check.reason is InterestReason.ALL)
        return next(sampled, self.start_check)


def generalise(
    world: SearchContext,
    start: AbstractBlock,
    start_check: AbstractCheck,
    checker: SamplingChecker,
    order: int,
    path: Sequence[object],
) -> Task[GeneralisingTrace]:
    """Expand in a random order as long as the abstract block stays interesting.

    With confirmation, a result that is refuted is generalised again in the same order; the samples that
    refuted it then reject the wrong expansion. At most `_MAX_ATTEMPTS` times.

    Args:
        world: Block domain, settings and seed of the campaign.
        start: Abstract block to expand.
        start_check: Check that `start` is interesting.
        checker: Samples and judges blocks.
        order: Number of the random order.
        path: Key of the random stream.
    """
    for attempt in range(_MAX_ATTEMPTS):
        below = (*path, "order", order, *([attempt] if attempt else []))
        trace = yield from _generalise_once(world, start, start_check, checker, order, below)
        if not start_check.interesting or not world.settings.confirms:
            break
        try:
            confirmed = yield from checker.confirm(trace.result, (*below, "confirm"))
        except TimeIsUp:
            break
        if confirmed.interesting:
            break
    return trace


def _generalise_once(
    world: SearchContext,
    start: AbstractBlock,
    start_check: AbstractCheck,
    checker: SamplingChecker,
    order: int,
    path: Sequence[object],
) -> Task[GeneralisingTrace]:
    """Algorithm 8.2.

    A rejected expansion is not tried again: expansions are monotone, so that the sample that refuted it would
    do so again (Theorem 8.5; with exceptions, most likely). The first order may relax names first. Where no
    full expansion is left, small ones are tried, which the paper does not have. It ends since chains of
    expansions are finite (Theorem 8.4), or with its current block when time is up.
    """
    domain = world.domain
    choices = world.random(*path)
    abstract = start
    rejected: set[Expansion] = set()
    steps: list[GeneralisingStep] = []
    while start_check.interesting:
        available = [candidate for candidate in domain.expansions(abstract) if candidate not in rejected]
        if available and world.settings.names_first and not order:
            precedence = min(map(domain.precedence, available))
            available = [candidate for candidate in available if domain.precedence(candidate) == precedence]
        if available:
            expansion = choices.choice(available)
        else:
            smaller = [step for step in domain.small_expansions(abstract) if step not in rejected]
            if not smaller:
                break
            expansion = smaller[0]
        expanded = domain.expand(abstract, expansion)
        if domain.same_meaning(abstract, expanded):
            check: AbstractCheck = AbstractCheck(InterestReason.SAME)
        else:
            try:
                check = yield from checker.check(expanded, (*path, "step", len(steps)), before=abstract)
            except TimeIsUp:  # what has been reached so far is interesting as well, but for less
                break
        steps.append(GeneralisingStep(expansion, check))
        if check.interesting:
            abstract = expanded
        else:
            rejected.add(expansion)
    return GeneralisingTrace(order, start, start_check, tuple(steps), abstract)


def generalise_all(
    world: SearchContext,
    driver: Driver,
    subjects: Sequence[RoundCandidate],
    expired: Callable[[], bool] = lambda: False,
) -> dict[int, list[GeneralisingTrace]]:
    """The generalisations of each block by its place; all blocks and orders of expansions run side by side.

    They end early once `expired` returns True. A block whose representation is not interesting has one trace.
    """
    checkers = [SamplingChecker(world, subject.witness) for subject in subjects]
    paths = [("block", subject.place) for subject in subjects]
    starts = driver.run(
        [
            checker.check(subject.abstract, (*below, "start"))
            for subject, checker, below in zip(subjects, checkers, paths, strict=True)
        ]
    )
    places: list[int] = []
    tasks: list[Task[GeneralisingTrace]] = []
    for subject, checker, below, check in zip(subjects, checkers, paths, starts, strict=True):
        start = cast(AbstractCheck, check)  # nothing has made them stop early
        for order in range(world.settings.orders if start.interesting else 1):
            places.append(subject.place)
            tasks.append(generalise(world, subject.abstract, start, checker, order, below))
    traces: dict[int, list[GeneralisingTrace]] = {subject.place: [] for subject in subjects}
    for place, trace in zip(places, driver.run(tasks, expired), strict=True):
        if trace is not None:
            traces[place].append(trace)
    return traces
