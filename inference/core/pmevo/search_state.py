"""Checkpoints of PMEvo, and the check that one belongs to a search."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inference.core.checkpoint import check_same_search, saved_search
from inference.core.experiment import Experiment
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.observer import Cycles
from inference.core.pmevo.packing import pack_evolution, unpack_evolution
from inference.core.pmevo.problem import PMEvoProblem
from inference.core.pmevo.refit.bounded import BoundedState
from inference.core.pmevo.refit.chain_states import (
    ChainState,
    pack_bounded,
    pack_chains,
    unpack_bounded,
    unpack_chains,
)
from inference.core.protocols import Checkpoint, Json

FORMAT = 2


@dataclass(frozen=True)
class SearchState:
    """The state of a search that is costly to compute again.

    Attributes:
        answers: Cycles in the order of the plan so far, NaN for unusable ones.
        unusable: {`MeasurementState`: number of these}.
        evolved: The last generation, None before the first.
        climbed: How many of the first mappings of `evolved` are local optima already, their errors with
            them; None while the evolution goes on.
        refit: The chains of the re-fit, None before it begins.
        bounded: The search for fewest µops and slots that follows it.
    """

    answers: Cycles
    evolved: Evolution | None = None
    climbed: int | None = None
    refit: tuple[ChainState, ...] | None = None
    bounded: BoundedState | None = None
    unusable: Mapping[str, int] = field(default_factory=dict)


def identity(problem: PMEvoProblem, seed: int, offers: Sequence[Experiment] | None) -> Json:
    """What a checkpoint must agree on: with any of it changed, the search would have another result."""
    settings = problem.settings.as_json()
    del settings["threads"]
    return {
        "algorithm": "pmevo",
        "format": FORMAT,
        "seed": seed,
        "settings": settings,
        "schemes": _digest(sorted(problem.schemes)),
        "offers": None if offers is None else _digest(offers),
        # Mixes to learn from exclude the held-out ones; their order does not matter.
        "held_out": _digest(sorted((measured.experiment for measured in problem.held_out), key=str))
        if settings["learnt_mixes"]
        else "",
    }


def _digest(items: Sequence[object]) -> str:
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{item!r}\n".encode())
    return digest.hexdigest()


def to_checkpoint(identity: Json, state: SearchState, n_ports: int) -> Checkpoint:
    """The state as a checkpoint, with its mappings on `n_ports` ports."""
    arrays: dict[str, Any] = {"answers": state.answers}
    meta: Json = {"search": identity, "climbed": state.climbed, "evolved": None}
    meta["unusable"] = dict(state.unusable)
    meta["ports"] = n_ports
    if state.evolved is not None:
        meta["evolved"], evolved = pack_evolution(state.evolved)
        arrays |= evolved
    if state.refit is not None:
        meta["refit"], chains = pack_chains(state.refit, n_ports)
        arrays |= chains
    if state.bounded is not None:
        meta["bounded"], bounded = pack_bounded(state.bounded, n_ports)
        arrays |= bounded
    return Checkpoint(meta, arrays)


def from_checkpoint(identity: Json, checkpoint: Checkpoint, n_ports: int) -> SearchState:
    """The state saved, on `n_ports` ports where it does not say how many.

    Raises `InvalidInputError` where the checkpoint belongs to another search.
    """
    n_ports = checkpoint.meta.get("ports", n_ports)
    saved = saved_search(checkpoint, identity, "PMEvo")
    # Settings that the checkpoint's version lacked have their current values.
    saved = {**saved, "settings": identity["settings"] | saved.get("settings", {})}
    check_same_search(saved, identity, "PMEvo search")
    arrays = {name: np.asarray(array) for name, array in checkpoint.arrays.items()}
    facts, chains = checkpoint.meta["evolved"], checkpoint.meta.get("refit")
    bounded = checkpoint.meta.get("bounded")
    return SearchState(
        answers=arrays["answers"],
        evolved=None if facts is None else unpack_evolution(facts, arrays, n_ports),
        climbed=checkpoint.meta["climbed"],
        refit=None if chains is None else unpack_chains(chains, arrays, n_ports),
        bounded=None if bounded is None else unpack_bounded(bounded, arrays, n_ports),
        unusable=checkpoint.meta.get("unusable", {}),
    )
