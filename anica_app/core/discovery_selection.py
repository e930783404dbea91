"""Coverage of blocks by discoveries, and the k discoveries with the largest coverage (§8.1.7, §8.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import SampledBlock
from anica_app.core.search.campaign_state import CampaignDiscovery
from anica_app.core.search.interestingness import JudgedBlock
from anica_app.core.search.search_tasks import Driver
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json

Covered = npt.NDArray[np.bool_]
"""bool[d, b]: whether discovery d subsumes block b."""

_TIME_LIMIT = 60.0
"""Seconds for the integer program; then the best selection so far counts."""

LENGTH = 4
"""Instructions of each block, as published."""

TOP = 10
"""Discoveries that a campaign's page names first."""

_BATCH = 500
"""Blocks judged at once; progress is reported after each batch."""

_ATTEMPTS = 100
"""To sample a block whose operands fit together."""


def covered_blocks(
    domain: BlockDomain,
    discoveries: Sequence[AbstractBlock],
    blocks: Sequence[SampledBlock],
    pulse: Callable[[], None] = lambda: None,
) -> Covered:
    """Which discovery subsumes which block (Definition 8.7), in the shape of `Covered`.

    Args:
        domain: The domain of both.
        discoveries: Abstract blocks, one per row.
        blocks: Concrete blocks, one per column.
        pulse: Called after every block; may raise to stop.
    """
    covered = np.zeros((len(discoveries), len(blocks)), dtype=np.bool_)
    for b, block in enumerate(blocks):
        abstract = domain.represent(block)
        for d, discovery in enumerate(discoveries):
            covered[d, b] = domain.subsumes(discovery, abstract)
        pulse()
    return covered


Weights = npt.NDArray[np.int64]
"""int64[p]: number of blocks that have the p-th pattern, a column of `Covered`."""


@dataclass(frozen=True)
class DiscoverySelection:
    """Discoveries by their rows, the one that adds most first; `blocks` is how many they cover together.

    `proven`: no other selection of this size covers more. Otherwise time ran out.
    """

    chosen: tuple[int, ...]
    blocks: int
    proven: bool


def best_selection(covered: Covered, k: int, seconds: float = _TIME_LIMIT) -> DiscoverySelection:
    """At most k discoveries that cover the most blocks together; fewer where more would add nothing.

    Blocks with the same column are one variable of the integer program, weighted by their number. These
    variables may be fractional: in an optimum each is 0 or 1 by itself.

    Args:
        covered: Which discovery covers which block.
        k: Largest size of the selection, at least 1.
        seconds: Time limit of the solver; a greedy selection is returned where it is better.

    Raises:
        InvalidInputError: k is below 1.
    """
    if k < 1:
        raise InvalidInputError(f"k must be at least 1, not {k}")
    patterns, weights = np.unique(covered[:, covered.any(axis=0)], axis=1, return_counts=True)
    if not patterns.size:
        return DiscoverySelection((), 0, proven=True)
    selection, proven = _optimum(patterns, weights, k, seconds)
    greedy = _greedy(patterns, weights, k)
    if _weight(patterns, weights, greedy) >= _weight(patterns, weights, selection):
        selection = greedy
    ordered = _by_gain(patterns, weights, selection)
    return DiscoverySelection(tuple(ordered), _weight(patterns, weights, ordered), proven)


def _optimum(patterns: Covered, weights: Weights, k: int, seconds: float) -> tuple[list[int], bool]:
    """The optimum by HiGHS, and whether it is proven to be one.

    Variable i is 1 where discovery i is chosen, variable n + j where pattern j counts as covered. The number
    of blocks with a covered pattern is maximised, which is its negative minimised, subject to:

    - at most k discoveries are chosen;
    - a pattern counts at most as often as discoveries that cover it are chosen.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # loads scipy
    from scipy.sparse import csr_array, hstack, identity  # loads scipy

    n, m = patterns.shape
    discovery_rows, pattern_rows = np.nonzero(patterns)
    covering = csr_array((np.ones(len(discovery_rows)), (pattern_rows, discovery_rows)), shape=(m, n))
    solution = milp(
        c=np.concatenate([np.zeros(n), -weights.astype(float)]),
        integrality=np.concatenate([np.ones(n), np.zeros(m)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(np.concatenate([np.ones(n), np.zeros(m)])[None, :], ub=k),
            LinearConstraint(hstack([covering, -identity(m)]), lb=0),
        ],
        options={"time_limit": seconds},
    )
    if solution.x is None:
        return [], False
    return [int(row) for row in np.flatnonzero(solution.x[:n] > 0.5)], solution.status == 0


def _greedy(patterns: Covered, weights: Weights, k: int) -> list[int]:
    """Up to k rows, each the one that adds most to those before."""
    return _by_gain(patterns, weights, range(patterns.shape[0]))[:k]


def _by_gain(patterns: Covered, weights: Weights, rows: range | list[int]) -> list[int]:
    """The rows in the order of their gain in coverage, ties by number; rows without a gain are left out."""
    remaining, missing, ordered = list(rows), np.ones(patterns.shape[1], dtype=np.bool_), []
    while remaining:
        gains = (patterns[remaining] & missing) @ weights
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        ordered.append(remaining.pop(best))
        missing &= ~patterns[ordered[-1]]
    return ordered


def _weight(patterns: Covered, weights: Weights, rows: list[int]) -> int:
    """Number of blocks that the rows cover together."""
    return int(weights[patterns[rows].any(axis=0)].sum()) if rows else 0


@dataclass(frozen=True)
class ExplainedBlocks:
    """How many of `blocks` are interesting, and how many of these the discoveries subsume.

    Attributes:
        top: Numbers of the `TOP` discoveries with the largest joint coverage, which is `top_covered`, in
            the order of their gain.
        by_discovery: {number of a discovery: blocks that it subsumes}, without zeros.
    """

    blocks: int
    interesting: int
    covered: int
    top: tuple[int, ...]
    top_covered: int
    by_discovery: dict[int, int]

    @property
    def share(self) -> float | None:
        """Share of the interesting blocks that is covered; None where no block is interesting."""
        return self.covered / self.interesting if self.interesting else None

    @property
    def top_share(self) -> float | None:
        return self.top_covered / self.interesting if self.interesting else None

    def as_json(self) -> Json:
        by_discovery = {str(number): count for number, count in self.by_discovery.items()}
        shares = {"share": self.share, "top_share": self.top_share}
        return {**asdict(self), "top": list(self.top), "by_discovery": by_discovery, **shares}


def fresh_blocks(domain: BlockDomain, number: int, length: int = LENGTH) -> list[SampledBlock]:
    """Unconstrained random blocks, which depend on the domain and the length alone, not on a campaign's seed.

    Args:
        domain: The schemes and operands that blocks may have.
        number: Blocks at most: one that could not be sampled in `_ATTEMPTS` attempts is missing.
        length: Instructions of each block.
    """
    unconstrained = domain.unconstrained(length)
    blocks = []
    for place in range(number):
        random = Random(f"evaluation/{length}/{place}")  # noqa: S311 nothing secret
        sampled = (domain.sample(unconstrained, random) for _ in range(_ATTEMPTS))
        block = next((sample for sample in sampled if sample is not None), None)
        if block is not None:
            blocks.append(block)
    return blocks


def judge_blocks(
    driver: Driver, blocks: Sequence[SampledBlock], report: Callable[[int], None] = lambda done: None
) -> list[JudgedBlock]:
    """Verdicts on many blocks, in their order.

    Args:
        driver: Asks the predictors and judges their answers.
        blocks: Sampled blocks.
        report: Called with the number of blocks judged so far.
    """
    judged: list[JudgedBlock] = []
    for begin in range(0, len(blocks), _BATCH):
        judged += driver.judge(blocks[begin : begin + _BATCH])
        report(len(judged))
    return judged


def explained_blocks(
    domain: BlockDomain,
    discoveries: Sequence[CampaignDiscovery],
    judged: Sequence[JudgedBlock],
    pulse: Callable[[], None] = lambda: None,
) -> ExplainedBlocks:
    """The coverage of the interesting blocks by the discoveries that are not concrete.

    Args:
        domain: Domain of the campaign.
        discoveries: Discoveries of the campaign; concrete ones, which stand for a single block, are
            ignored.
        judged: Random blocks with their verdicts.
        pulse: Called between blocks; what it raises ends the computation.
    """
    general = [discovery for discovery in discoveries if not discovery.concrete]
    interesting = [block.block for block in judged if block.verdict.interesting]
    covered = covered_blocks(domain, [discovery.abstract for discovery in general], interesting, pulse)
    best = best_selection(covered, TOP)
    return ExplainedBlocks(
        blocks=len(judged),
        interesting=len(interesting),
        covered=int(covered.any(axis=0).sum()),
        top=tuple(general[row].number for row in best.chosen),
        top_covered=best.blocks,
        by_discovery={
            block.number: int(row.sum()) for block, row in zip(general, covered, strict=True) if row.any()
        },
    )
