"""The arrays that the compiled loops work on.

A *row* is the µops of one scheme in one mapping. Row numbers are those of `Rows`; `EvaluationArrays` have a
place for each row of a block of consecutive rows (one mapping, say), so that place p belongs to row
`base + p`.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from inference.core.tables import Floats, Integers

Number = Any
"""A number in a compiled loop: of whatever width numba finds, which no type checker follows.

At calls, integers are cast to int64, so that numba does not compile a variant for every width.
"""


LISTED = 32
"""Port-set unions listed per row at most; schemes with more are evaluated by another method."""

MAX_LIVE = 256
"""Candidate unions that branch and bound holds at once; with more, maximum flow is used."""

PORTS = 64
"""Bits of a port set."""

MAX_TABLE_PORTS = 13
"""Ports up to which a scheme's table over all port sets fits the cache: 2^13 bytes."""

MAX_SCALED_PORTS = 24  # ports, see `MAX_CROSSED`
MAX_CROSSED = 1 << 20
"""Ports and µops up to which mass · lcm(1 … ports) stays below 2^53, and its quotient by the latter exact."""

MAX_IN_ROW = (1 << 8) - 1  # µops, in a table of bytes
MAX_IN_SUM = (1 << 16) - 1
"""µops that fit one table, and a sum of tables."""

_CROSSED = 500  # pairs of unions per experiment at most where no tables replace them
_CROSSED_LEAST = 4  # pairs of unions per experiment that are crossed even beside small tables
_CROSSED_PER_COLUMN = 1 / 48
"""Pairs of unions per experiment at most: as many as take as long as the columns of two tables."""

LANES = 64
"""Columns of a block of a table: a few vectors."""


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


class EvaluationArrays(NamedTuple):
    """Prepared values of each place, and scratch room for one experiment at a time; one per thread.

    `n_kinds`, `mass` int64[places]: kinds and number of the µops of each place.
    `unions` uint64[places · LISTED], `masses` float64[places · LISTED]: the unions of the place's port sets,
    and the µops confined to each; `listed` int64[places]: their number, -1 for too many to list.
    `alone_mass`, `alone_width` int64[places]: the densest set of ports of one execution of the scheme alone.
    `weights` float64[PORTS + 1], `scale`: `scale / ports` as whole numbers. Two places are crossed if they
    have at most `cross_limit` pairs of unions; -1 where there are too many ports for that.
    `tables` uint8[places, columns]: µops confined to each set of ports, filled where `filled` is 1.
    `columns`: the sets, in blocks of `LANES`; empty for too many ports. `table_weights`
    int32[LANES]: `table_scale` / size of the sets of a lane. `filling` int16[columns]: scratch.
    `scaled` int64[2]: the last row of `tables`, which belongs to no place, is the table of place `scaled[0]`
    (-1: of none) times `scaled[1]`.
    `kinds`, `amounts` [most kinds of an experiment], `places` [most terms], `live`, `live_mass`
    [MAX_CANDIDATES], `placed` [kinds, PORTS], `ports` [4, PORTS]: scratch.
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
    table_weights: Integers
    table_scale: float
    filling: Integers
    scaled: Integers
    kinds: Integers
    amounts: Integers
    places: Integers
    live: Integers
    live_mass: Integers
    placed: Integers
    ports: Integers


def make_arrays(
    n_places: int, n_ports: int, most_kinds: int, most_terms: int, *, tables: bool
) -> EvaluationArrays:
    """Empty arrays for the evaluation of mappings.

    Arrays that are always written before they are read are not cleared.

    Args:
        n_places: Number of rows that are prepared at a time.
        n_ports: Number of ports.
        most_kinds: Largest number of kinds of µops in an experiment.
        most_terms: Largest number of different schemes in an experiment.
        tables: Whether to reserve tables of unions of ports; only for at most `MAX_TABLE_PORTS` ports.
    """
    columns, weights, table_scale = np.zeros(0, np.int16), np.zeros(LANES, np.int64), 1
    if tables and n_ports <= MAX_TABLE_PORTS:
        columns, weights, table_scale = _in_lanes(n_ports)
    scale = math.lcm(*range(1, n_ports + 1)) if n_ports <= MAX_SCALED_PORTS else 0
    return EvaluationArrays(
        n_kinds=np.zeros(n_places, dtype=np.int64),
        mass=np.zeros(n_places, dtype=np.int64),
        unions=np.empty(n_places * LISTED, dtype=np.uint64),
        masses=np.empty(n_places * LISTED, dtype=np.float64),
        listed=np.zeros(n_places, dtype=np.int64),
        alone_mass=np.zeros(n_places, dtype=np.int64),
        alone_width=np.ones(n_places, dtype=np.int64),
        weights=np.array([0, *(scale // size for size in range(1, PORTS + 1))], dtype=np.float64),
        scale=float(scale),
        cross_limit=_most_crossed(len(columns)) if scale else -1,
        tables=np.empty((n_places + 1, len(columns)), dtype=np.uint8),
        filled=np.zeros(n_places, dtype=np.uint8),
        columns=columns,
        table_weights=weights.astype(np.int32),
        table_scale=float(table_scale),
        filling=np.zeros(len(columns), dtype=np.int16),
        scaled=np.array([-1, 0], dtype=np.int64),
        kinds=np.zeros(max(1, most_kinds), dtype=np.uint64),
        amounts=np.zeros(max(1, most_kinds), dtype=np.int64),
        places=np.zeros(max(1, most_terms), dtype=np.int32),
        live=np.zeros(MAX_LIVE, dtype=np.uint64),
        live_mass=np.zeros(MAX_LIVE, dtype=np.int64),
        placed=np.empty((max(1, most_kinds), PORTS), dtype=np.int64),
        ports=np.zeros((4, PORTS), dtype=np.int64),
    )


def _most_crossed(n_columns: int) -> int:
    if n_columns == 0:
        return _CROSSED
    return min(_CROSSED, max(_CROSSED_LEAST, int(n_columns * _CROSSED_PER_COLUMN)))


@cache
def _in_lanes(n_ports: int) -> tuple[Integers, Integers, int]:
    """All non-empty port sets, in as few blocks of `LANES` as possible with sets of one size in every lane.

    int16[columns], filled up with empty sets, to which no µop is bound; int64[LANES], weights scale / size;
    and the scale. 2^8 µops times the scale of `MAX_TABLE_PORTS` ports fit 32 bits.
    """
    subsets = np.arange(1, 1 << n_ports, dtype=np.int64)
    sizes = np.bitwise_count(subsets)
    counts = [math.comb(n_ports, size) for size in range(1, n_ports + 1)]
    blocks = next(n for n in itertools.count(1) if sum(-(-count // n) for count in counts) <= LANES)
    columns = np.zeros((blocks, LANES), dtype=np.int16)
    weights = np.zeros(LANES, dtype=np.int64)
    scale = math.lcm(*range(1, n_ports + 1))
    lane = 0
    for size, count in enumerate(counts, start=1):
        wide = -(-count // blocks)
        members = np.pad(subsets[sizes == size], (0, blocks * wide - count))
        columns[:, lane : lane + wide] = members.reshape(blocks, wide)
        weights[lane : lane + wide] = scale // size
        lane += wide
    return columns.ravel(), weights, scale
