"""What a campaign finds and how far it is, its checkpoint as JSON, and the protocol of its store."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Protocol

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.errors import AnicaError
from anica_app.core.search.generalisation import GeneralisingTrace, RoundCandidate
from anica_app.core.search.interestingness import JudgedBlock
from inference.core.protocols import Checkpoint, Json

FORMAT = 1  # of checkpoints


@dataclass(frozen=True, slots=True)
class CampaignDiscovery:
    """An abstract block whose samples were all interesting, except for exceptions; numbers count from 0.

    `concrete`: only the block `code` is known to be interesting, and `abstract` is its representation. `code`
    is the minimised block, `start_code` the sampled one. `interestingness` is the mean of the last check,
    `math.inf` for failures; `generality` as in §8.1.7.
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


class Outcome(StrEnum):
    """The end of a generalisation; `CONCRETE`: a discovery that stays one concrete block."""

    DISCOVERY = "discovery"
    SUBSUMED = "subsumed"
    DUPLICATE = "duplicate"
    CONCRETE = "concrete"


@dataclass(frozen=True, slots=True)
class CampaignGeneralisation:
    """A finished generalisation, and the number of the discovery that it is or that subsumes it.

    `discovery` is None where an excluded abstract block subsumes it.
    """

    number: int
    candidate: RoundCandidate
    trace: GeneralisingTrace
    became: Outcome
    discovery: int | None


@dataclass(frozen=True, slots=True)
class FreshRound:
    """The fresh blocks of a round and their verdicts; rounds count from 0."""

    number: int
    blocks: Sequence[JudgedBlock]
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
class CampaignUpdate:
    """What was found since the last checkpoint.

    `subsumed`: {number of a discovery: number of the one that subsumes it}.
    """

    counters: CampaignCounters
    failures: Mapping[str, int]
    fresh: FreshRound | None = None
    discoveries: Sequence[CampaignDiscovery] = ()
    generalised: Sequence[CampaignGeneralisation] = ()
    subsumed: Mapping[int, int] | None = None


class CampaignStore(Protocol):
    def save_update(self, update: CampaignUpdate, checkpoint: Checkpoint) -> None:
        """Store both or neither, so that a campaign resumed from the checkpoint repeats no update."""
        ...


@dataclass
class CampaignState:
    """The state of a campaign between two waves.

    `pending` are the places of fresh blocks that wait to be generalised; `fruitful` is the last place that
    led to a discovery, −1 for none.
    """

    counters: CampaignCounters = field(default_factory=CampaignCounters)
    pending: list[int] = field(default_factory=list)
    fruitful: int = -1
    failures: Counter[str] = field(default_factory=Counter)
    discoveries: list[CampaignDiscovery] = field(default_factory=list)
    subsumed: dict[int, int] = field(default_factory=dict)
    seed: int = 0

    @property
    def unsubsumed(self) -> list[CampaignDiscovery]:
        """The discoveries that no other one subsumes: the result."""
        return [discovery for discovery in self.discoveries if discovery.number not in self.subsumed]


def checkpoint_of(state: CampaignState, domain: BlockDomain) -> Checkpoint:
    """The state as a checkpoint; `state_of` reads it with the same domain."""
    return Checkpoint(
        {
            "format": FORMAT,
            "seed": state.seed,
            "counters": asdict(state.counters),
            "pending": state.pending,
            "fruitful": state.fruitful,
            "failures": dict(sorted(state.failures.items())),
            "discoveries": [discovery_json(discovery, domain) for discovery in state.discoveries],
            "subsumed": sorted(state.subsumed.items()),
        }
    )


def state_of(checkpoint: Checkpoint, domain: BlockDomain) -> CampaignState:
    """The state of a checkpoint. Raises `AnicaError` for one of another version."""
    meta = checkpoint.meta
    if meta.get("format") != FORMAT:
        raise AnicaError("this campaign was interrupted under another version: start it anew")
    return CampaignState(
        counters=CampaignCounters(**meta["counters"]),
        pending=meta["pending"],
        fruitful=meta["fruitful"],
        failures=Counter(meta["failures"]),
        discoveries=[discovery_of(document, domain) for document in meta["discoveries"]],
        subsumed={int(number): int(includer) for number, includer in meta["subsumed"]},
        seed=meta["seed"],
    )


def discovery_json(discovery: CampaignDiscovery, domain: BlockDomain) -> Json:
    """A discovery as JSON; an infinite interestingness is null."""
    finite = math.isfinite(discovery.interestingness)
    return {
        **{field.name: getattr(discovery, field.name) for field in fields(discovery)},
        "abstract": domain.document(discovery.abstract),
        "code": discovery.code.hex(),
        "start_code": discovery.start_code.hex(),
        "interestingness": discovery.interestingness if finite else None,
    }


def discovery_of(document: Json, domain: BlockDomain) -> CampaignDiscovery:
    interestingness = document["interestingness"]
    return CampaignDiscovery(
        **{
            **document,
            "abstract": domain.read(document["abstract"]),
            "code": bytes.fromhex(document["code"]),
            "start_code": bytes.fromhex(document["start_code"]),
            "interestingness": math.inf if interestingness is None else interestingness,
        }
    )
