"""Evolved populations as JSON and arrays, for checkpoints and for workers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.fitness import Slopes
from inference.core.pmevo.population import concatenate, pack, select, unpack
from inference.core.protocols import Json

_POPULATION = ("sizes", "lengths", "masks", "counts")


def merge_islands(generation: int, islands: tuple[Evolution, ...], slopes: Slopes) -> Evolution:
    """All islands as one population, fittest first by these slopes, with the islands in `islands`."""
    errors = np.concatenate([island.errors for island in islands])
    volumes = np.concatenate([island.volumes for island in islands])
    order = np.argsort(slopes.fitness(errors, volumes), kind="stable")
    population = select(concatenate([island.population for island in islands]), order)
    return Evolution(generation, population, errors[order], volumes[order], slopes, islands)


def pack_evolution(evolved: Evolution) -> tuple[Json, dict[str, npt.NDArray[Any]]]:
    """JSON and arrays; those of islands, if there are any, instead of their union's."""
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
        **pack(concatenate([part.population for part in parts]) if evolved.islands else evolved.population),
        "errors": np.concatenate([part.errors for part in parts]),
        "volumes": np.concatenate([part.volumes for part in parts]),
    }
    return facts, arrays


def unpack_evolution(facts: Json, arrays: dict[str, npt.NDArray[Any]], n_ports: int) -> Evolution:
    """The state in JSON and arrays from `pack_evolution`; `arrays` may contain others."""
    population = unpack({name: arrays[name] for name in _POPULATION}, facts["n_schemes"], n_ports)
    errors, volumes = arrays["errors"], arrays["volumes"]
    slopes = Slopes(*facts["slopes"])
    merged = Evolution(facts["generation"], population, errors, volumes, slopes)
    islands = []
    first = 0
    for size, *counts in facts.get("islands", ()):
        picks = np.arange(first, first + size)
        island = replace(merged, population=select(population, picks), slopes=Slopes(*counts))
        islands.append(replace(island, errors=errors[picks], volumes=volumes[picks]))
        first += size
    return merge_islands(merged.generation, tuple(islands), slopes) if islands else merged
