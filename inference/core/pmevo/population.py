"""Populations of port mappings: random ones, children, selections, and their packed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.pmevo.plan import ceiling
from inference.core.tables import Counts, Int64s, Masks, Population, row_types

_PACKED = ("lengths", "masks", "counts")
_MAX_COUNT = 1_000_000  # no instruction executes more µops of one kind; keeps counts inside 32 bits


def count_limits(times: Sequence[float], n_ports: int, epsilon: float) -> Int64s:
    """⌈tp⁻¹(i) · |u|⌉ for every scheme and µop width: int64[n_schemes, n_ports], column = width − 1.

    More µops of that width would take longer than the scheme's measured time. The product is rounded up with
    a tolerance of epsilon, see `plan.ceiling`.
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
    from inference.core.pmevo import kernels  # loads numba

    n_schemes, n_ports = limits.shape
    rows = len(seeds) * n_schemes
    mask_type, count_type = row_types(n_ports, int(limits.max(initial=0)))
    offsets = np.zeros(rows + 1, dtype=np.int64)
    masks = np.empty(rows * n_ports, dtype=mask_type)
    counts = np.empty(rows * n_ports, dtype=count_type)
    used = kernels.sample(seeds, limits, n_ports, offsets, masks, counts)
    return Population(offsets, masks[:used].copy(), counts[:used].copy(), len(seeds), n_schemes, n_ports)


def children(
    population: Population, parents: Int64s, seeds: npt.NDArray[np.uint64], *, drop: bool
) -> Population:
    """Two children for each pair of parents, by concatenate, shuffle and split (§5.1.3).

    Args:
        population: The parents.
        parents: Their positions, int64[n_pairs, 2].
        seeds: One per pair.
        drop: A µop that lands twice in one child keeps one count instead of the sum.
    """
    from inference.core.pmevo import kernels  # loads numba

    n_schemes = population.n_schemes
    ends = population.offsets[::n_schemes]
    room = int((ends[parents + 1] - ends[parents]).sum())
    max_count = int(population.counts.max(initial=0))
    mask_type, count_type = row_types(population.n_ports, max_count if drop else 2 * max_count)
    offsets = np.zeros(2 * len(parents) * n_schemes + 1, dtype=np.int64)
    masks = np.empty(room, dtype=mask_type)
    counts = np.empty(room, dtype=count_type)
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


def concatenate(parts: Sequence[Population]) -> Population:
    """The mappings of all parts, one after another; same schemes and ports."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return _from_lengths(
        lengths,
        np.concatenate([part.masks for part in parts]),
        np.concatenate([part.counts for part in parts]),
        parts[0].n_schemes,
        parts[0].n_ports,
    )


def select(population: Population, picks: Int64s) -> Population:
    """The mappings with these numbers, in this order; a number may come twice."""
    return select_among([population], picks)


def select_among(parts: Sequence[Population], picks: Int64s) -> Population:
    """`select`, with numbers that count through all parts; mappings that are not chosen are not copied."""
    from inference.core.pmevo import kernels  # loads numba

    n_schemes = parts[0].n_schemes
    begins = np.cumsum([0, *(part.n_mappings for part in parts)])
    lengths = np.empty((len(picks), n_schemes), dtype=np.int64)
    where = [np.flatnonzero((picks >= begin) & (picks < end)) for begin, end in pairwise(begins)]
    for part, begin, places in zip(parts, begins, where, strict=False):
        kernels.copy_lengths(part.offsets, picks[places] - begin, places, lengths)
    offsets = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    masks = np.empty(offsets[-1], dtype=np.result_type(*(part.masks for part in parts)))
    counts = np.empty(offsets[-1], dtype=np.result_type(*(part.counts for part in parts)))
    for part, begin, places in zip(parts, begins, where, strict=False):
        for target, source in ((masks, part.masks), (counts, part.counts)):
            converted = source.astype(target.dtype, copy=False)
            kernels.copy_entries(
                part.offsets, converted, n_schemes, picks[places] - begin, places, offsets, target
            )
    return Population(offsets, masks, counts, len(picks), n_schemes, parts[0].n_ports)


def canonical(population: Population) -> Population:
    """The same mappings with every row sorted by port set, and each port set once."""
    from inference.core.pmevo import kernels  # loads numba

    offsets = np.zeros(len(population.offsets), dtype=np.int64)
    masks = np.empty(len(population.masks), dtype=np.int64)
    counts = np.empty(len(population.counts), dtype=np.int32)
    used = kernels.sort_rows(population.offsets, population.masks, population.counts, offsets, masks, counts)
    return Population(
        offsets, masks[:used], counts[:used], population.n_mappings, population.n_schemes, population.n_ports
    )


def _from_lengths(
    lengths: npt.NDArray[np.int64], masks: Masks, counts: Counts, n_schemes: int, n_ports: int
) -> Population:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Population(offsets, masks, counts, len(lengths) // n_schemes, n_schemes, n_ports)


def pack(population: Population) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays of a checkpoint: numbers with as few bits as the largest needs, one after another.

    A compressor would find next to nothing in random mappings, and take seconds. `sizes`: the length of each
    array in the order of `_PACKED`, then their bits per number.
    """
    from inference.core.pmevo import kernels  # loads numba

    arrays = (np.diff(population.offsets), population.masks, population.counts)
    bits = [int(array.max(initial=0)).bit_length() for array in arrays]
    out: dict[str, npt.NDArray[np.generic]] = {
        "sizes": np.array([len(array) for array in arrays] + bits, dtype=np.int64)
    }
    for name, array, width in zip(_PACKED, arrays, bits, strict=True):
        target = np.zeros(-(-len(array) * width // 8), dtype=np.uint8)
        kernels.pack(array, width, target)
        out[name] = target
    return out


def unpack(arrays: Mapping[str, npt.NDArray[np.generic]], n_schemes: int, n_ports: int) -> Population:
    """The population in arrays from `pack`.

    Args:
        arrays: Arrays as stored in a checkpoint.
        n_schemes: Number of schemes, as when it was packed.
        n_ports: Number of ports, as when it was packed.

    Raises:
        InvalidInputError: The sizes of the arrays contradict each other.
    """
    from inference.core.pmevo import kernels  # loads numba

    sizes, bits = arrays["sizes"][: len(_PACKED)].tolist(), arrays["sizes"][len(_PACKED) :].tolist()
    mask_type, count_type = row_types(n_ports, (1 << bits[-1]) - 1)
    types: tuple[npt.DTypeLike, ...] = (np.int64, mask_type, count_type)
    values: list[npt.NDArray[Any]] = []
    for name, size, width, kind in zip(_PACKED, sizes, bits, types, strict=True):
        if len(arrays[name]) != -(-size * width // 8):
            raise InvalidInputError(f"{size} numbers of {width} bits are not in {len(arrays[name])} bytes")
        values.append(np.empty(size, dtype=kind))
        kernels.unpack(arrays[name], width, values[-1])
    return _from_lengths(values[0], values[1], values[2], n_schemes, n_ports)
