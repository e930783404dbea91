"""Evolved populations as JSON facts and arrays: what checkpoints hold, and what workers are sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.pmevo.breeding import Evolved
from inference.core.pmevo.fitness import Slopes
from inference.core.pmevo.population import chosen, joined, packed, unpacked
from inference.core.protocols import Json

_POPULATION = ("sizes", "lengths", "masks", "counts")


def together(generation: int, islands: tuple[Evolved, ...], slopes: Slopes) -> Evolved:
    """All islands as one population, fittest first by these slopes, with the islands themselves in it."""
    errors = np.concatenate([island.errors for island in islands])
    volumes = np.concatenate([island.volumes for island in islands])
    order = np.argsort(slopes.fitness(errors, volumes), kind="stable")
    population = chosen(joined([island.population for island in islands]), order)
    return Evolved(generation, population, errors[order], volumes[order], slopes, islands)


def packed_evolved(evolved: Evolved) -> tuple[Json, dict[str, npt.NDArray[Any]]]:
    """Facts and arrays; of islands only what they consist of."""
    parts = evolved.islands or (evolved,)
    facts: Json = {
        "generation": evolved.generation,
        "n_schemes": evolved.population.n_schemes,
        "slopes": [evolved.slopes.error, evolved.slopes.volume],
    }
    if evolved.islands:
        facts["islands"] = [
            [island.population.n_mappings, island.slopes.error, island.slopes.volume] for island in parts
        ]
    arrays: dict[str, npt.NDArray[Any]] = {
        **packed(joined([part.population for part in parts]) if evolved.islands else evolved.population),
        "errors": np.concatenate([part.errors for part in parts]),
        "volumes": np.concatenate([part.volumes for part in parts]),
    }
    return facts, arrays


def unpacked_evolved(facts: Json, arrays: dict[str, npt.NDArray[Any]], n_ports: int) -> Evolved:
    """What `packed_evolved` made these of; other arrays may be among them."""
    population = unpacked({name: arrays[name] for name in _POPULATION}, facts["n_schemes"], n_ports)
    errors, volumes = arrays["errors"], arrays["volumes"]
    slopes = Slopes(*facts["slopes"])
    whole = Evolved(facts["generation"], population, errors, volumes, slopes)
    islands = []
    first = 0
    for size, *own in facts.get("islands", ()):
        picks = np.arange(first, first + size)
        island = replace(whole, population=chosen(population, picks), slopes=Slopes(*own))
        islands.append(replace(island, errors=errors[picks], volumes=volumes[picks]))
        first += size
    return together(whole.generation, tuple(islands), slopes) if islands else whole
