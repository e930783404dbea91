"""Leaving out instructions as long as a block stays interesting (Algorithm 8.1, line 6)."""

from __future__ import annotations

from collections.abc import Sequence

from anica_app.core.search.judging import Judged
from anica_app.core.search.protocols import AbstractT, BlockT, ExpansionT
from anica_app.core.search.tasks import Task, World


def minimise(
    world: World[BlockT, AbstractT, ExpansionT], judged: Judged[BlockT], path: Sequence[object]
) -> Task[BlockT, Judged[BlockT]]:
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


def alike(world: World[BlockT, AbstractT, ExpansionT], judged: Judged[BlockT], other: Judged[BlockT]) -> bool:
    """Whether a block is interesting in the way that the other one is."""
    same_kind = not world.settings.kinds_apart or judged.verdict.kind == other.verdict.kind
    return judged.verdict.interesting and same_kind
