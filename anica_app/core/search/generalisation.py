"""From fresh random blocks, made short, to abstract blocks that characterise them (Algorithm 8.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from anica_app.core.domain.abstract import AbstractBlock, Expansion
from anica_app.core.domain.space import SampledBlock
from anica_app.core.search.abstract_check import AbstractCheck, InterestReason, SamplingChecker, is_like
from anica_app.core.search.interestingness import JudgedBlock
from anica_app.core.search.search_tasks import Driver, SearchContext, Task, TimeIsUp

_MOST_ATTEMPTS = 5
"""How often a generalisation is begun at most; each time it knows more."""


@dataclass(frozen=True)
class FreshBlocks:
    """Judged random blocks by their places; `failed` counts attempts at sampling that came to nothing.

    A place has no block where all attempts failed.
    """

    blocks: Mapping[int, JudgedBlock]
    failed: int


def sample_fresh(world: SearchContext, driver: Driver, places: Iterable[int]) -> FreshBlocks:
    """The random blocks at these places, of 1 to `longest` instructions; each depends on its place alone."""
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
    """The interesting blocks in the order of their places, each without whatever can be left out."""
    starts = [(place, start) for place, start in fresh.blocks.items() if start.verdict.interesting]
    witnesses = driver.run([minimise(world, start, ("minimise", place)) for place, start in starts])
    return [
        RoundCandidate(place, start, witness, world.domain.represent(witness.block))
        for (place, start), witness in zip(starts, witnesses, strict=True)
        if witness is not None
    ]


def minimise(world: SearchContext, judged: JudgedBlock, path: Sequence[object]) -> Task[JudgedBlock]:
    """The interesting block without whatever can be left out, one instruction after the other.

    In each step all ways to leave out one are judged together; of those that stay interesting the first in a
    random order is taken. With `kinds_apart` it must stay interesting in the same way.
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
        """In which way it is interesting, see `BlockInterest.kind`."""
        return self.witness.verdict.kind


@dataclass(frozen=True, slots=True)
class GeneralisingStep:
    """An expansion that was tried, and the check that decided whether it was taken."""

    expansion: Expansion
    check: AbstractCheck

    @property
    def accepted(self) -> bool:
        """Whether the generalisation went on with it."""
        return self.check.interesting


@dataclass(frozen=True, slots=True)
class GeneralisingTrace:
    """One generalisation: from β of the block, `start`, by the expansions taken to the `result`.

    `start_check` says whether the start was interesting at all; if not, there are no steps, and the concrete
    block is all that can be said.
    """

    order: int
    start: AbstractBlock
    start_check: AbstractCheck
    steps: tuple[GeneralisingStep, ...]
    result: AbstractBlock

    @property
    def concrete(self) -> bool:
        """Whether the result is the concrete block."""
        return not self.start_check.interesting

    @property
    def result_check(self) -> AbstractCheck:
        """The check by which the result was found interesting."""
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
    """Take expansions in a random order as long as the abstract block stays interesting.

    If the settings want results confirmed and one is not, it begins anew in the same order; whatever has
    been seen meanwhile to be uninteresting then stands in the way where it was overlooked before.
    """
    for attempt in range(_MOST_ATTEMPTS):
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

    What was rejected once is not tried again: expansions are monotone, so that the block that spoke against
    it would do so again (Theorem 8.5; where exceptions are forgiven, most likely). The first order may take
    names first. Where no expansion is left, those that go less far are tried in turn, which the paper does
    not have. It ends where no chain of expansions is infinite (Theorem 8.4), or
    with what it has come to when time is up.
    """
    domain = world.domain
    choices = world.random(*path)
    abstract = start
    rejected: set[Expansion] = set()
    steps: list[GeneralisingStep] = []
    while start_check.interesting:
        available = [candidate for candidate in domain.expansions(abstract) if candidate not in rejected]
        if available and world.settings.names_first and not order:
            least = min(map(domain.precedence, available))
            available = [candidate for candidate in available if domain.precedence(candidate) == least]
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
    """The generalisations of each block, by its place: all blocks and orders of expansions side by side.

    They end early where `expired` became true. A block whose representation is not interesting has one.
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
