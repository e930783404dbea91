"""How much of what is interesting discoveries explain: fresh blocks to judge them by (thesis §8.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random

from anica_app.core.block_domain import BlockDomain
from anica_app.core.discovery_selection import best_selection, covered_blocks
from anica_app.core.domain.blocks import SampledBlock
from anica_app.core.search.findings import FoundDiscovery
from anica_app.core.search.judging import JudgedAnswers
from anica_app.core.search.panel import Driver
from inference.core.protocols import Json

LENGTH = 4
"""Instructions of each block, as published."""
TOP = 10
_PIECE = 500
_ATTEMPTS = 100


@dataclass(frozen=True)
class ExplainedBlocks:
    """Of so many blocks, how many are interesting, and how many of these the discoveries subsume.

    `top` are the numbers of the `TOP` discoveries that together subsume the most, the one that adds most
    first, and `top_covered` is how many that is. `by_discovery`: how many each subsumes, by its number.
    """

    blocks: int
    interesting: int
    covered: int
    top: tuple[int, ...]
    top_covered: int
    by_discovery: dict[int, int]

    @property
    def share(self) -> float | None:
        """Of the interesting blocks, the share that is covered; None where there is none."""
        return self.covered / self.interesting if self.interesting else None

    @property
    def top_share(self) -> float | None:
        """The share that the top discoveries cover."""
        return self.top_covered / self.interesting if self.interesting else None

    def as_json(self) -> Json:
        by_discovery = {str(number): count for number, count in self.by_discovery.items()}
        shares = {"share": self.share, "top_share": self.top_share}
        return {**asdict(self), "top": list(self.top), "by_discovery": by_discovery, **shares}


def fresh_blocks(domain: BlockDomain, number: int, length: int = LENGTH) -> list[SampledBlock]:
    """Random blocks without constraints, always the same ones of a domain, whatever a campaign's seed."""
    anything = domain.unconstrained(length)
    blocks = []
    for place in range(number):
        random = Random(f"evaluation/{length}/{place}")  # noqa: S311 nothing secret
        sampled = (domain.sample(anything, random) for _ in range(_ATTEMPTS))
        block = next((one for one in sampled if one is not None), None)
        if block is not None:
            blocks.append(block)
    return blocks


def judged_blocks(
    driver: Driver, blocks: Sequence[SampledBlock], told: Callable[[int], None] = lambda done: None
) -> list[JudgedAnswers]:
    """The verdicts on many blocks; `told` hears how many there are."""
    judged: list[JudgedAnswers] = []
    for begin in range(0, len(blocks), _PIECE):
        judged += driver.judge(blocks[begin : begin + _PIECE])
        told(len(judged))
    return judged


def explained(
    domain: BlockDomain,
    discoveries: Sequence[FoundDiscovery],
    judged: Sequence[JudgedAnswers],
    pulse: Callable[[], None] = lambda: None,
) -> ExplainedBlocks:
    """How many of the interesting ones among the blocks discoveries subsume; concrete ones do not count."""
    general = [one for one in discoveries if not one.concrete]
    interesting = [one.block for one in judged if one.verdict.interesting]
    covered = covered_blocks(domain, [one.abstract for one in general], interesting, pulse)
    best = best_selection(covered, TOP)
    return ExplainedBlocks(
        blocks=len(judged),
        interesting=len(interesting),
        covered=int(covered.any(axis=0).sum()),
        top=tuple(general[row].number for row in best.chosen),
        top_covered=best.blocks,
        by_discovery={
            one.number: int(row.sum()) for one, row in zip(general, covered, strict=True) if row.any()
        },
    )
