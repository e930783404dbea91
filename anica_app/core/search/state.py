"""Where a campaign stands, as a checkpoint: JSON alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field, fields

from anica_app.core.block_domain import BlockDomain
from anica_app.core.errors import AnicaError
from anica_app.core.search.findings import CampaignCounters, FoundDiscovery
from inference.core.protocols import Checkpoint, Json

FORMAT = 1


@dataclass
class State:
    """Between two waves of generalisations.

    `pending` are the places of the fresh blocks that wait to be generalised; `fruitful` is the last place
    that led to a discovery, −1 for none.
    """

    counters: CampaignCounters = field(default_factory=CampaignCounters)
    pending: list[int] = field(default_factory=list)
    fruitful: int = -1
    failures: Counter[str] = field(default_factory=Counter)
    discoveries: list[FoundDiscovery] = field(default_factory=list)
    subsumed: dict[int, int] = field(default_factory=dict)
    seed: int = 0

    @property
    def standing(self) -> list[FoundDiscovery]:
        """The discoveries not covered by another one: the result."""
        return [one for one in self.discoveries if one.number not in self.subsumed]


def checkpoint_of(state: State, domain: BlockDomain) -> Checkpoint:
    """The state; read it with the same domain."""
    return Checkpoint(
        {
            "format": FORMAT,
            "seed": state.seed,
            "counters": asdict(state.counters),
            "pending": state.pending,
            "fruitful": state.fruitful,
            "failures": dict(sorted(state.failures.items())),
            "discoveries": [discovery_json(one, domain) for one in state.discoveries],
            "subsumed": sorted(state.subsumed.items()),
        }
    )


def state_of(checkpoint: Checkpoint, domain: BlockDomain) -> State:
    """Back from `checkpoint_of`. Raises `AnicaError` where another version wrote it."""
    meta = checkpoint.meta
    if meta.get("format") != FORMAT:
        raise AnicaError("this campaign was interrupted under another version: start it anew")
    return State(
        counters=CampaignCounters(**meta["counters"]),
        pending=meta["pending"],
        fruitful=meta["fruitful"],
        failures=Counter(meta["failures"]),
        discoveries=[discovery_of(one, domain) for one in meta["discoveries"]],
        subsumed={int(one): int(by) for one, by in meta["subsumed"]},
        seed=meta["seed"],
    )


def discovery_json(discovery: FoundDiscovery, domain: BlockDomain) -> Json:
    """A discovery as JSON; the interestingness of failures, which is infinite, is null."""
    finite = math.isfinite(discovery.interestingness)
    return {
        **{field.name: getattr(discovery, field.name) for field in fields(discovery)},
        "abstract": domain.document(discovery.abstract),
        "code": discovery.code.hex(),
        "start_code": discovery.start_code.hex(),
        "interestingness": discovery.interestingness if finite else None,
    }


def discovery_of(document: Json, domain: BlockDomain) -> FoundDiscovery:
    known = document["interestingness"]
    return FoundDiscovery(
        **{
            **document,
            "abstract": domain.read(document["abstract"]),
            "code": bytes.fromhex(document["code"]),
            "start_code": bytes.fromhex(document["start_code"]),
            "interestingness": math.inf if known is None else known,
        }
    )
