"""Settings of a campaign's search, and when it ends (thesis §8.2.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inference.core.errors import InvalidInputError
from inference.core.tunables import AlgorithmSettings, check_integer, check_number, setting

_ROUNDING = 1e-9  # 0.29 of 100 is 29, whatever their product is in binary


@dataclass(frozen=True)
class SearchSettings(AlgorithmSettings):
    """The parameters of Algorithms 8.1 and 8.2. Raises `InvalidInputError` for values out of range."""

    NAME = "the search"
    samples: int = setting(
        100,
        "random blocks sampled from each abstract block; all but the allowed exceptions must be interesting",
        paper=100,
    )
    first_look: int = setting(
        20,
        "number of these evaluated first; the others only if all of these are interesting",
        paper=100,
    )
    longest: int = setting(5, "largest number of instructions of a random block", paper=5)
    orders: int = setting(5, "random orders of expansions in which each block is generalised", paper=5)
    batch: int = setting(100, "random blocks per round", paper=5)
    side_by_side: int = setting(4, "blocks of a round generalised in parallel", paper=1)
    new_share: float = setting(
        0.5,
        "share of the samples taken from the blocks that an expansion adds; the others are from all that "
        "the abstract block represents",
        paper=0.0,
    )
    confirming: int = setting(
        100,
        "further samples of each result; if one is not interesting, the generalisation resumes before the "
        "expansion that admitted it",
        paper=0,
    )
    share_evidence: bool = setting(
        True,
        "reject an expansion without sampling if it admits a block known to be uninteresting",
        paper=False,
    )
    kinds_apart: bool = setting(
        True,
        "generalise differences, and the failures of each tool, separately",
        paper=False,
    )
    exceptions: float = setting(
        0.0,
        "share of the samples that need not be interesting, for measurement errors and special cases",
        paper=0.0,
    )
    names_first: bool = setting(
        True,
        "the first order relaxes mnemonics, categories and instruction sets first, so that the remaining "
        "constraints describe behaviour",
        paper=False,
    )
    attempts: int = setting(20, "largest number of attempts to sample a block", paper=None)

    def __post_init__(self) -> None:
        check_integer("samples", self.samples, 1, 100_000)
        check_integer("first_look", self.first_look, 1, 100_000)
        check_number("new_share", self.new_share, 0.0, 1.0)
        check_number("exceptions", self.exceptions, 0.0, 0.5)
        check_integer("confirming", self.confirming, 0, 100_000)
        check_integer("longest", self.longest, 1, 30)
        check_integer("orders", self.orders, 1, 100)
        check_integer("batch", self.batch, 1, 100_000)
        check_integer("side_by_side", self.side_by_side, 1, 100)
        check_integer("attempts", self.attempts, 1, 1000)

    def batch_sizes(self) -> list[int]:
        """Numbers of samples that are judged together, batch by batch; their sum is `samples`."""
        first = min(self.first_look, self.samples)
        return [look for look in (first, self.samples - first) if look]

    def allowed_exceptions(self, samples: int) -> int:
        """How many of these samples need not be interesting."""
        return math.floor(self.exceptions * samples + _ROUNDING)

    @property
    def confirms(self) -> bool:
        """Whether results are sampled once more.

        Only with shared evidence, which rejects the wrong expansion next time.
        """
        return self.share_evidence and self.confirming > 0


@dataclass(frozen=True)
class Termination(AlgorithmSettings):
    """When a campaign ends: at the first of these limits; at least one must be set.

    All but `minutes` end a campaign at the same point every time.
    """

    NAME = "the end of a campaign"
    minutes: float | None = setting(None, "minutes of searching", paper=None)
    discoveries: int | None = setting(None, "discoveries not covered by another one", paper=150)
    barren: int | None = setting(None, "consecutive random blocks without a new discovery", paper=None)
    blocks: int | None = setting(None, "random blocks in total", paper=None)

    def __post_init__(self) -> None:
        if self.minutes is not None:
            check_number("minutes", self.minutes, 0.0, 1e6)
        for name in ("discoveries", "barren", "blocks"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, 10**9)
        if not any(value is not None for value in vars(self).values()):
            raise InvalidInputError(
                "a campaign must end at some time: minutes, discoveries, barren or blocks"
            )
