"""Inheritance and mutation beyond the paper, and fingerprints of mappings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from inference.core.tables import Int64s, Population, row_types

_CHANCE_SCALE = 1 << 32


def inherit_rows(population: Population, parents: Int64s, seeds: npt.NDArray[np.uint64]) -> Population:
    """Two children for each pair of parents, whose rows are inherited as a unit.

    For each scheme, one child gets all µops of one parent, and its sibling those of the other.

    Args:
        population: The parents.
        parents: Their positions, int64[n_pairs, 2].
        seeds: One per pair.
    """
    from inference.core.pmevo import variation_kernels  # loads numba

    n_schemes = population.n_schemes
    ends = population.offsets[::n_schemes]
    room = int((ends[parents + 1] - ends[parents]).sum())
    offsets = np.zeros(2 * len(parents) * n_schemes + 1, dtype=np.int64)
    masks = np.empty(room, dtype=population.masks.dtype)
    counts = np.empty(room, dtype=population.counts.dtype)
    variation_kernels.inherit(
        parents,
        seeds,
        n_schemes,
        population.offsets,
        population.masks,
        population.counts,
        offsets,
        masks,
        counts,
    )
    return Population(offsets, masks, counts, 2 * len(parents), n_schemes, population.n_ports)


def mutate(population: Population, seeds: npt.NDArray[np.uint64], rate: float, limits: Int64s) -> Population:
    """The mappings with some schemes changed; for the kinds of changes see `variation_kernels.mutate`.

    Args:
        population: Unchanged.
        seeds: One per mapping.
        rate: Probability with which a scheme changes, from 0 to 1.
        limits: Largest number of µops of each scheme, as from `count_limits`.
    """
    from inference.core.pmevo import variation_kernels  # loads numba

    room = len(population.masks) + population.n_mappings * population.n_schemes
    max_count = max(int(limits.max(initial=0)), int(population.counts.max(initial=0)))
    mask_type, count_type = row_types(population.n_ports, max_count)
    offsets = np.zeros(len(population.offsets), dtype=np.int64)
    masks = np.empty(room, dtype=mask_type)
    counts = np.empty(room, dtype=count_type)
    used = variation_kernels.mutate(
        seeds,
        round(rate * _CHANCE_SCALE),
        limits,
        population.n_ports,
        population.offsets,
        population.masks,
        population.counts,
        offsets,
        masks,
        counts,
    )
    return Population(
        offsets,
        masks[:used].copy(),
        counts[:used].copy(),
        population.n_mappings,
        population.n_schemes,
        population.n_ports,
    )


def fingerprints(population: Population) -> npt.NDArray[np.uint64]:
    """A hash of each mapping, uint64[n_mappings]; different mappings collide once in 2⁶⁴ pairs."""
    from inference.core.pmevo import variation_kernels  # loads numba

    out = np.empty(population.n_mappings, dtype=np.uint64)
    variation_kernels.fingerprint(
        population.n_schemes, population.offsets, population.masks, population.counts, out
    )
    return out
