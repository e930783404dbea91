"""What a campaign tells while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anica_app.core.search.findings import CampaignCounters
from inference.core.events import Plain
from inference.core.protocols import Json


@dataclass(frozen=True)
class Counted(Plain):
    """Where the campaign stands; a newer one replaces it. `rate` is in blocks judged per second."""

    kind: ClassVar[str] = "counters"
    counters: CampaignCounters
    discoveries: int
    standing: int
    generalising: int
    rate: float
    failures: dict[str, int]

    def payload(self) -> Json:
        """The counters beside the rest."""
        facts = super().payload()
        return {**facts.pop("counters"), **facts}


@dataclass(frozen=True)
class SampledRound(Plain):
    """The fresh blocks of a round: how many of them are interesting, and how many lead on.

    `candidates` are those that no earlier discovery subsumes once they are minimised.
    """

    kind: ClassVar[str] = "batch"
    round: int
    sampled: int
    interesting: int
    candidates: int
    seconds: float


@dataclass(frozen=True)
class Discovered(Plain):
    """A new discovery; the abstract block is its document, code is in hexadecimal digits.

    `interestingness` is None where it is infinite.
    """

    kind: ClassVar[str] = "discovery"
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
