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
        "random blocks by which an abstract block is judged; all but exceptions must be interesting",
        paper=100,
    )
    first_look: int = setting(
        20,
        "of these, how many are looked at first; the others only if all of them are interesting",
        paper=100,
    )
    longest: int = setting(5, "instructions of a random block at most", paper=5)
    orders: int = setting(5, "random orders of expansions in which each block is generalised", paper=5)
    batch: int = setting(100, "random blocks that a round begins with", paper=5)
    side_by_side: int = setting(4, "blocks of a round that are generalised at the same time", paper=1)
    new_share: float = setting(
        0.5,
        "share of the samples of an expanded abstract block that are of what the expansion has added; the "
        "others are of all that it represents",
        paper=0.0,
    )
    confirming: int = setting(
        100,
        "further samples of each result; one that is not interesting sends the generalisation back to where "
        "it went wrong",
        paper=0,
    )
    share_evidence: bool = setting(
        True,
        "reject an expansion without sampling where it would admit a block that was seen to be uninteresting",
        paper=False,
    )
    kinds_apart: bool = setting(
        True,
        "a difference and the failures of each tool are found and generalised apart from one another",
        paper=False,
    )
    exceptions: float = setting(
        0.0,
        "share of the samples that need not be interesting: measurements err, processors have special cases",
        paper=0.0,
    )
    names_first: bool = setting(
        True,
        "the first order relaxes mnemonics, categories and instruction sets before all else: what is left "
        "says what instructions do",
        paper=False,
    )
    attempts: int = setting(20, "attempts at sampling one block before it is given up", paper=None)

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
        """Numbers of samples that are judged together, one batch after the other; they add up to
        `samples`.
        """
        first = min(self.first_look, self.samples)
        return [look for look in (first, self.samples - first) if look]

    def allowed_exceptions(self, samples: int) -> int:
        """How many of these samples need not be interesting."""
        return math.floor(self.exceptions * samples + _ROUNDING)

    @property
    def confirms(self) -> bool:
        """Whether results are sampled once more; only with shared evidence, which rejects the wrong expansion
        next time.
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
    barren: int | None = setting(None, "random blocks in a row without a new discovery", paper=None)
    blocks: int | None = setting(None, "random blocks in all", paper=None)

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
