"""The part of a checkpoint that belongs to a re-fit: chains as JSON and arrays, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.pmevo.population import concatenate, pack, unpack
from inference.core.pmevo.refit.bounded import BoundedState
from inference.core.pmevo.refit.chain import Chain, ChainPlace
from inference.core.pmevo.refit.front import RefitPoint
from inference.core.pmevo.refit.usage import Usage
from inference.core.protocols import Json

_PREFIX = "refit_"
_BOUNDED = "bounded_"


@dataclass(frozen=True)
class ChainState:
    """The state from which a chain can be resumed: its mapping, its place, its losses and its front."""

    usage: Usage
    place: ChainPlace
    losses: Mapping[int, float]
    front: tuple[RefitPoint, ...]

    @classmethod
    def of(cls, chain: Chain) -> ChainState:
        """A copy of the chain's state between two steps."""
        return cls(chain.usage.copy(), chain.place, dict(chain.losses), chain.front)

    def restore(self, chain: Chain) -> None:
        chain.usage, chain.place = self.usage.copy(), self.place
        chain.losses, chain.front = dict(self.losses), self.front


def pack_chains(
    chains: Sequence[ChainState], n_ports: int
) -> tuple[list[Json], dict[str, npt.NDArray[np.generic]]]:
    """A JSON object per chain, and the arrays of all of them together."""
    facts = [
        {
            "place": {name: _number(value) for name, value in asdict(chain.place).items()},
            "losses": [[mask, _number(loss)] for mask, loss in chain.losses.items()],
            "front": [[point.error, point.volume] for point in chain.front],
            "n_schemes": len(chain.usage.sizes),
        }
        for chain in chains
    ]
    usages = [usage for chain in chains for usage in (chain.usage, *(p.usage for p in chain.front))]
    together = concatenate([usage.population(n_ports) for usage in usages])
    return facts, {_PREFIX + name: array for name, array in pack(together).items()}


def unpack_chains(
    facts: Sequence[Json], arrays: Mapping[str, npt.NDArray[np.generic]], n_ports: int
) -> tuple[ChainState, ...]:
    """The chains in JSON and arrays from `pack_chains`."""
    chain_arrays = {
        name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)
    }
    population = unpack(chain_arrays, facts[0]["n_schemes"], n_ports)
    usages = iter([Usage.of(population, k) for k in range(population.n_mappings)])
    return tuple(
        ChainState(
            usage=next(usages),
            place=_place(chain["place"]),
            losses={int(mask): float(loss) for mask, loss in chain["losses"]},
            front=tuple(RefitPoint(error, volume, next(usages)) for error, volume in chain["front"]),
        )
        for chain in facts
    )


def pack_bounded(state: BoundedState, n_ports: int) -> tuple[Json, dict[str, npt.NDArray[np.generic]]]:
    facts: Json = {
        "issue_width": state.issue_width,
        "done": state.done,
        "barren": state.barren,
        "value": _number(state.value),
        "n_schemes": 0 if state.usage is None else len(state.usage.sizes),
    }
    if state.usage is None:
        return facts, {}
    arrays = pack(state.usage.population(n_ports)) | {"slots": state.usage.slots.copy()}
    return facts, {_BOUNDED + name: array for name, array in arrays.items()}


def unpack_bounded(facts: Json, arrays: Mapping[str, npt.NDArray[np.generic]], n_ports: int) -> BoundedState:
    """The state in JSON and arrays from `pack_bounded`."""
    usage = None
    if facts["n_schemes"]:
        chain_arrays = {
            name.removeprefix(_BOUNDED): array for name, array in arrays.items() if name.startswith(_BOUNDED)
        }
        slots = np.asarray(chain_arrays.pop("slots"), dtype=np.int64)
        usage = replace(Usage.of(unpack(chain_arrays, facts["n_schemes"], n_ports), 0), slots=slots)
    value = math.inf if facts["value"] == "inf" else facts["value"]
    return BoundedState(facts["issue_width"], facts["done"], facts["barren"], usage, value)


def _number(value: Any) -> Any:
    return str(value) if value == math.inf else value


def _place(saved: Json) -> ChainPlace:
    values: dict[str, Any] = {name: math.inf if value == "inf" else value for name, value in saved.items()}
    values["levels"] = tuple(values["levels"])
    return ChainPlace(**values)
