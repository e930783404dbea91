"""Searches as generators: they yield blocks that they want judged, and go on with the verdicts.

So a search says what it wants to know and nothing of how it is asked; whoever runs it can merge the wishes
of many searches into bulk questions (`panel`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias, TypeVar

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.blocks import SampledBlock
from anica_app.core.search.judging import JudgedAnswers
from anica_app.core.search.settings import SearchSettings

ResultT = TypeVar("ResultT")

Task: TypeAlias = Generator[Sequence[SampledBlock], Sequence[JudgedAnswers], ResultT]
"""A search over blocks: it yields at least one block at a time, in whatever number."""


class TimeIsUp(Exception):  # noqa: N818 it is no error
    """Thrown into a task instead of verdicts: it may return what it has come to, or let it pass."""


@dataclass(frozen=True)
class World:
    """What all searches of a campaign have in common; `seed` names it in every random choice."""

    domain: BlockDomain
    settings: SearchSettings
    seed: int

    def random(self, *path: object) -> Random:
        """The source of randomness of one task, named by where it stands in the campaign.

        So what is chosen does not depend on the order in which tasks happen to be carried out.
        """
        return Random("/".join(str(part) for part in (self.seed, *path)))  # noqa: S311 nothing secret
