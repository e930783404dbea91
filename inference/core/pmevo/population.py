"""Populations of port mappings: random ones, children, and the choice of some out of many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from inference.core.pmevo.plan import ceiling
from inference.core.tables import Int64s, Population

_MAX_COUNT = 1_000_000  # no instruction executes more µops of one kind; keeps counts inside 32 bits


def count_limits(times: Sequence[float], n_ports: int, epsilon: float) -> Int64s:
    """⌈tp⁻¹(i) · |u|⌉ for every scheme and µop width: int64[n_schemes, n_ports], column = width − 1.

    More µops of that width would by themselves take longer than the scheme was measured to take. The
    measured product is rounded up with a tolerance of epsilon, see `plan.ceiling`.
    """
    return np.array(
        [
            [min(ceiling(time * width, epsilon), _MAX_COUNT) for width in range(1, n_ports + 1)]
            for time in times
        ],
        dtype=np.int64,
    )


def random_population(seeds: npt.NDArray[np.uint64], limits: Int64s) -> Population:
    """One random mapping per seed (§5.1.3); `limits` as from `count_limits`."""
    from inference.core.pmevo import kernels

    n_schemes, n_ports = limits.shape
    rows = len(seeds) * n_schemes
    offsets = np.zeros(rows + 1, dtype=np.int64)
    masks = np.zeros(rows * n_ports, dtype=np.int64)
    counts = np.zeros(rows * n_ports, dtype=np.int32)
    used = kernels.sample(seeds, limits, n_ports, offsets, masks, counts)
    return Population(offsets, masks[:used].copy(), counts[:used].copy(), len(seeds), n_schemes, n_ports)


def children(
    population: Population, parents: Int64s, seeds: npt.NDArray[np.uint64], *, drop: bool
) -> Population:
    """Two children for each pair of parents, int64[n_pairs, 2], by concatenate, shuffle and split (§5.1.3).

    A pair has one seed. `drop`: a µop that lands twice in one child keeps one count instead of the sum.
    """
    from inference.core.pmevo import kernels

    n_schemes = population.n_schemes
    ends = population.offsets[::n_schemes]
    room = int((ends[parents + 1] - ends[parents]).sum())
    offsets = np.zeros(2 * len(parents) * n_schemes + 1, dtype=np.int64)
    masks = np.zeros(room, dtype=np.int64)
    counts = np.zeros(room, dtype=np.int32)
    used = kernels.recombine(
        parents,
        seeds,
        drop,
        n_schemes,
        population.offsets,
        population.masks,
        population.counts,
        offsets,
        masks,
        counts,
    )
    return Population(
        offsets, masks[:used].copy(), counts[:used].copy(), 2 * len(parents), n_schemes, population.n_ports
    )


def joined(parts: Sequence[Population]) -> Population:
    """The mappings of all parts, one after another; same schemes and ports."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return _from_lengths(
        lengths,
        np.concatenate([part.masks for part in parts]),
        np.concatenate([part.counts for part in parts]),
        parts[0].n_schemes,
        parts[0].n_ports,
    )


def chosen(population: Population, picks: npt.NDArray[np.int64]) -> Population:
    """The mappings with these numbers, in this order; a number may come twice."""
    n_schemes = population.n_schemes
    ends = population.offsets[::n_schemes].tolist()
    spans = [slice(ends[m], ends[m + 1]) for m in picks.tolist()]
    lengths = np.diff(population.offsets).reshape(population.n_mappings, n_schemes)[picks].ravel()
    return _from_lengths(
        lengths,
        np.concatenate([population.masks[span] for span in spans]),
        np.concatenate([population.counts[span] for span in spans]),
        n_schemes,
        population.n_ports,
    )


def _from_lengths(
    lengths: npt.NDArray[np.int64],
    masks: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int32],
    n_schemes: int,
    n_ports: int,
) -> Population:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Population(offsets, masks, counts, len(lengths) // n_schemes, n_schemes, n_ports)


def packed(population: Population) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays of a checkpoint, in the smallest types that hold them."""
    lengths = np.diff(population.offsets)
    return {
        "lengths": _narrow(lengths),
        "masks": _narrow(population.masks),
        "counts": _narrow(population.counts),
    }


def unpacked(arrays: dict[str, npt.NDArray[np.generic]], n_schemes: int, n_ports: int) -> Population:
    """The population that `packed` made these arrays of; `InvalidInputError` where they do not fit."""
    return _from_lengths(
        arrays["lengths"].astype(np.int64),
        arrays["masks"].astype(np.int64),
        arrays["counts"].astype(np.int32),
        n_schemes,
        n_ports,
    )


def _narrow(values: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.generic]:
    largest = int(values.max(initial=0))
    return values.astype(np.min_scalar_type(largest))
