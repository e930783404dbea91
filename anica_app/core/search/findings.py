"""What a campaign finds, and who keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.search.generalising import GeneralisingTrace, RoundCandidate
from anica_app.core.search.judging import JudgedAnswers
from inference.core.protocols import Checkpoint


@dataclass(frozen=True, slots=True)
class FoundDiscovery:
    """An abstract block all of whose samples were interesting, but for exceptions; numbers count from 0.

    `concrete`: nothing but the block `code` itself is known to be interesting, and `abstract` merely
    represents it. `code` is the minimised block, `start_code` the sampled one. `interestingness` is the mean
    of the last check, `math.inf` for failures; `generality` as in §8.1.7.
    """

    number: int
    abstract: AbstractBlock
    kind: str
    code: bytes
    start_code: bytes
    length: int
    interestingness: float
    generality: int
    concrete: bool = False


class Became(StrEnum):
    """What a generalisation turned out to be."""

    DISCOVERY = "discovery"
    SUBSUMED = "subsumed"
    DUPLICATE = "duplicate"
    CONCRETE = "concrete"


@dataclass(frozen=True, slots=True)
class Generalised:
    """A finished generalisation, with the number of the discovery that it is or belongs to.

    `discovery` is None where what subsumes it was excluded beforehand.
    """

    number: int
    candidate: RoundCandidate
    trace: GeneralisingTrace
    became: Became
    discovery: int | None


@dataclass(frozen=True, slots=True)
class Round:
    """The fresh blocks of a round and their verdicts; rounds count from 0."""

    number: int
    blocks: Sequence[JudgedAnswers]
    failed: int
    """Attempts at sampling that came to nothing."""


@dataclass(frozen=True, slots=True)
class CampaignCounters:
    """How far a campaign is. `failures` counts answers by predictor and sort, e.g. "timeout of 2"."""

    rounds: int = 0
    sampled: int = 0
    interesting: int = 0
    subsumed: int = 0
    """Interesting blocks that an earlier discovery subsumes."""
    barren: int = 0
    """Fresh blocks since the last one that led to a discovery."""
    generalisations: int = 0
    judged: int = 0
    """Blocks that all predictors have answered for."""
    failed_samples: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class News:
    """What has come about since the last checkpoint; `subsumed` has the discovery that includes another."""

    counters: CampaignCounters
    failures: Mapping[str, int]
    fresh: Round | None = None
    discoveries: Sequence[FoundDiscovery] = ()
    generalised: Sequence[Generalised] = ()
    subsumed: Mapping[int, int] | None = None


class Keeper(Protocol):
    """Stores what a campaign finds while it goes on."""

    def keep(self, news: News, checkpoint: Checkpoint) -> None:
        """Store both or neither: a campaign that goes on from the checkpoint tells no news twice."""
        ...
