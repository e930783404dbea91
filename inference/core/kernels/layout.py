"""The arrays that the compiled loops work on.

A *row* is the µops of one scheme in one mapping. Row numbers are those of `Rows`; a `Desk` has a place for
each row of a block of consecutive rows (one mapping, say), so that place p belongs to row `base + p`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[Any]
Number = Any
"""A number in a compiled loop: of whatever width numba finds, which no type checker follows.

Where functions are called, whole numbers are cast to int64, lest numba compile them for every width there is.
"""

Floats = npt.NDArray[np.float64]

LISTED = 32
"""Port-set unions listed per row at most; a scheme with more of them is evaluated otherwise."""

HELD = 256
"""Candidate unions that branch and bound holds at once before it gives way to the flow."""

PORTS = 64
"""Bits of a port set."""

MAX_TABLE_PORTS = 13
"""Up to here a table over all port sets per scheme fits the cache: 2^13 bytes."""

MAX_SCALED_PORTS = 24
MOST_CROSSED = 1 << 20
"""Ports and µops up to which mass · lcm(1 … ports) stays below 2^53, and its quotient by the latter exact."""

MOST_IN_ROW = (1 << 7) - 1
MOST_IN_SUM = (1 << 15) - 1
"""µops that fit one table, and a sum of tables."""

_CROSSED = 500
"""Pairs of unions that are looked at at most, where tables are not quicker anyway."""

LANES = 32
"""Table columns of one class of port sets are filled up to a multiple of this."""


class Rows(NamedTuple):
    """µops: those of row r are `masks[k]`, `counts[k]` ≥ 1 for k from `starts[r]` to `ends[r]`."""

    starts: Integers
    ends: Integers
    masks: Integers
    counts: Integers


class Mixes(NamedTuple):
    """Experiments as compressed rows of (scheme number, repeats), and the least that each can take.

    `offsets` int64[n + 1], `scheme` int32[terms], `repeats` int32[terms], `floor` float64[n] in cycles.
    """

    offsets: Integers
    scheme: Integers
    repeats: Integers
    floor: Floats


class Desk(NamedTuple):
    """Room for what is known of each place, and scratch room for one experiment at a time; one per thread.

    `n_kinds`, `mass` int64[places]: kinds and number of the µops of each place.
    `unions` uint64[places · LISTED], `masses` float64[places · LISTED]: the unions of the place's port sets,
    and the µops bound to each; `listed` int64[places]: how many, -1 for too many to list.
    `alone_mass`, `alone_width` int64[places]: the densest set of ports of one execution of the scheme alone.
    `weights` float64[PORTS + 1], `scale`: `scale / ports` as whole numbers. Two places are crossed if they
    have at most `cross_limit` pairs of unions; -1 where there are too many ports for that.
    `tables` int8[places, columns]: µops bound to each set of ports, filled where `filled` is 1;
    `columns`: these sets in classes by size, each filled up with empty sets to whole vectors; `ends`: where
    each class ends. No columns for more ports than tables are good for.
    `nothing` int8[columns]: zeros. `narrow` int8[columns], `total` int16[columns]: sums of tables, scratch.
    `kinds`, `amounts` [most kinds of an experiment], `places` [most terms],
    `held`, `held_mass` [HELD], `placed` [kinds, PORTS], `ports` [4, PORTS]: scratch.
    """

    n_kinds: Integers
    mass: Integers
    unions: Integers
    masses: Floats
    listed: Integers
    alone_mass: Integers
    alone_width: Integers
    weights: Floats
    scale: float
    cross_limit: int
    tables: Integers
    filled: Integers
    columns: Integers
    ends: Integers
    narrow: Integers
    nothing: Integers
    total: Integers
    kinds: Integers
    amounts: Integers
    places: Integers
    held: Integers
    held_mass: Integers
    placed: Integers
    ports: Integers


def make_desk(n_places: int, n_ports: int, most_kinds: int, most_terms: int, *, tables: bool) -> Desk:
    """An empty desk for `n_ports` ports; `tables`: with room for tables, where these are any good.

    Room that is filled before it is looked at is not cleared.
    """
    columns = ends = np.zeros(0, dtype=np.int64)
    if tables and n_ports <= MAX_TABLE_PORTS:
        columns, ends = _subsets_by_size(n_ports)
    scale = math.lcm(*range(1, n_ports + 1)) if n_ports <= MAX_SCALED_PORTS else 0
    return Desk(
        n_kinds=np.zeros(n_places, dtype=np.int64),
        mass=np.zeros(n_places, dtype=np.int64),
        unions=np.empty(n_places * LISTED, dtype=np.uint64),
        masses=np.empty(n_places * LISTED, dtype=np.float64),
        listed=np.zeros(n_places, dtype=np.int64),
        alone_mass=np.zeros(n_places, dtype=np.int64),
        alone_width=np.ones(n_places, dtype=np.int64),
        weights=np.array([0, *(scale // size for size in range(1, PORTS + 1))], dtype=np.float64),
        scale=float(scale),
        cross_limit=min(_CROSSED, len(columns) // 8 or _CROSSED) if scale else -1,
        tables=np.empty((n_places, len(columns)), dtype=np.int8),
        filled=np.zeros(n_places, dtype=np.uint8),
        columns=columns.astype(np.int16),
        ends=ends,
        narrow=np.zeros(len(columns), dtype=np.int8),
        nothing=np.zeros(len(columns), dtype=np.int8),
        total=np.zeros(len(columns), dtype=np.int16),
        kinds=np.zeros(max(1, most_kinds), dtype=np.uint64),
        amounts=np.zeros(max(1, most_kinds), dtype=np.int64),
        places=np.zeros(max(1, most_terms), dtype=np.int32),
        held=np.zeros(HELD, dtype=np.uint64),
        held_mass=np.zeros(HELD, dtype=np.int64),
        placed=np.empty((max(1, most_kinds), PORTS), dtype=np.int64),
        ports=np.zeros((4, PORTS), dtype=np.int64),
    )


@cache
def _subsets_by_size(n_ports: int) -> tuple[Integers, Integers]:
    """All port sets but the empty one in classes of equal size 1, 2, …, and where each class ends.

    Each class begins with as many empty sets, to which no µop is bound, as fill it up to whole vectors.
    """
    subsets = np.arange(1, 1 << n_ports, dtype=np.int64)
    sizes = np.bitwise_count(subsets)
    classes = []
    for size in range(1, n_ports + 1):
        members = subsets[sizes == size]
        classes.append(np.pad(members, (-len(members) % LANES, 0)))
    return np.concatenate(classes), np.cumsum([len(members) for members in classes], dtype=np.int64)
