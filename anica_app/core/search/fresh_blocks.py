"""Fresh random blocks, and the interesting ones among them made short (Algorithm 8.1, lines 3 to 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anica_app.core.domain.blocks import SampledBlock
from anica_app.core.search.checking import alike
from anica_app.core.search.generalising import RoundCandidate
from anica_app.core.search.judging import JudgedAnswers
from anica_app.core.search.panel import Driver
from anica_app.core.search.task import Task, World


@dataclass(frozen=True)
class Fresh:
    """Judged random blocks by their places; `failed` counts attempts at sampling that came to nothing.

    A place has no block where all attempts failed.
    """

    blocks: Mapping[int, JudgedAnswers]
    failed: int


def sample_fresh(world: World, driver: Driver, places: Iterable[int]) -> Fresh:
    """The random blocks at these places, of 1 to `longest` instructions; each depends on its place alone."""
    domain, settings = world.domain, world.settings
    sampled: dict[int, SampledBlock] = {}
    failed = 0
    for place in places:
        random = world.random("sample", place)
        anything = domain.unconstrained(random.randint(1, settings.longest))
        for _ in range(settings.attempts):
            block = domain.sample(anything, random)
            if block is not None:
                sampled[place] = block
                break
            failed += 1
    judged = driver.judge(list(sampled.values()))
    return Fresh(dict(zip(sampled, judged, strict=True)), failed)


def minimised(world: World, driver: Driver, fresh: Fresh) -> list[RoundCandidate]:
    """The interesting blocks in the order of their places, each without whatever can be left out."""
    starts = [(place, one) for place, one in fresh.blocks.items() if one.verdict.interesting]
    witnesses = driver.carry_out([minimise(world, one, ("minimise", place)) for place, one in starts])
    return [
        RoundCandidate(place, start, witness, world.domain.represent(witness.block))
        for (place, start), witness in zip(starts, witnesses, strict=True)
        if witness is not None
    ]


def minimise(world: World, judged: JudgedAnswers, path: Sequence[object]) -> Task[JudgedAnswers]:
    """The interesting block without whatever can be left out, one instruction after the other.

    In each step all ways to leave out one are judged together; of those that stay interesting the first in a
    random order is taken. With `kinds_apart` it must stay interesting in the same way.
    """
    random = world.random(*path)
    while len(judged.block) > 1:
        positions = list(range(len(judged.block)))
        random.shuffle(positions)
        shorter = yield [world.domain.without(judged.block, position) for position in positions]
        found = next((one for one in shorter if alike(world, one, judged)), None)
        if found is None:
            break
        judged = found
    return judged
