"""The events of a campaign's search."""

from __future__ import annotations

from dataclasses import dataclass, field

from anica_app.core.domain.wording import block_wording
from anica_app.core.search.campaign_state import CampaignCounters
from inference.core.events import Event
from inference.core.protocols import Json


@dataclass(frozen=True)
class CountersEvent(CampaignCounters, Event):
    """The counters of a campaign; a newer event replaces it. `rate` is in judged blocks per second."""

    kind = "counters"
    replaced = True
    discoveries: int = field(kw_only=True)
    standing: int = field(kw_only=True)
    generalising: int = field(kw_only=True)
    rate: float = field(kw_only=True)
    failures: dict[str, int] = field(kw_only=True)


@dataclass(frozen=True)
class RoundEvent(Event):
    """The fresh blocks of a round.

    `candidates`: interesting blocks that, once minimised, no earlier discovery subsumes.
    """

    kind = "batch"
    counted_by = "round"
    round: int
    sampled: int
    interesting: int
    candidates: int
    seconds: float


@dataclass(frozen=True)
class DiscoveryEvent(Event):
    """A new discovery: the document of its abstract block, and its code in hexadecimal digits.

    `interestingness` is None where it is infinite.
    """

    kind = "discovery"
    counted_by = "number"
    number: int
    abstract: Json
    way: str
    code: str
    length: int
    interestingness: float | None
    generality: int
    concrete: bool
    subsumes: list[int]
    seconds: float

    def line(self) -> str:
        """Number of the discovery, and its abstract block in words."""
        return f"  {self.number}. {block_wording(self.abstract).line}"
