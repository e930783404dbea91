"""Conjunctive resource mappings, Palmed's model: a second predictor beside the port mapping (thesis ch. 7).

A scheme puts a load on abstract resources; the fullest resource gives the inverse throughput. There are no
µops and no schedule, and nothing to optimise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inference.core.errors import CoreError, InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, ports_in
from inference.core.tables import ExperimentTable, Floats, Int64s

MAX_RESOURCES = 4096  # Palmed's models have some twenty; a conversion can have as many as there are port sets
MAX_LOADS = 1_000_000  # rows of a database; Palmed's models have a tenth of that
LOAD_RANGE = (1e-9, 1e9)  # cycles; below it a load is noise, beyond it no instruction was measured

Loads = tuple[tuple[int, float], ...]
"""The loads of one scheme: ((resource index, cycles > 0), …), sorted by index; () where there is none."""

_BLOCK = 1 << 22
"""Numbers in a block of experiments × resources: 32 MiB, independent of the size of the table."""

_COLUMNS = 256
_DIGITS = 13


@dataclass(frozen=True)
class ResourceMapping:
    """How many cycles of which abstract resources one instance of each instruction scheme takes up.

    A `ThroughputModel`. A limit of the processor beside its ports (R_max of a port mapping) is a resource
    like any other.

    Args:
        resources: Names, in the order of their indices.
        loads: {scheme text: loads}.

    Raises:
        InvalidInputError: For names that repeat and for a load that no instruction can have.
    """

    resources: tuple[str, ...]
    loads: Mapping[str, Loads]

    def __post_init__(self) -> None:
        if len(self.resources) > MAX_RESOURCES:
            raise InvalidInputError(
                f"a resource mapping has at most {MAX_RESOURCES} resources, not {len(self.resources)}"
            )
        if not all(self.resources):
            raise InvalidInputError("the name of a resource must not be empty")
        if len(set(self.resources)) != len(self.resources):
            raise InvalidInputError(f"resource names must differ: {', '.join(self.resources)}")
        check_size(sum(map(len, self.loads.values())))
        for scheme, loads in self.loads.items():
            _check_loads(scheme, loads, len(self.resources))

    @property
    def described(self) -> Collection[str]:
        """The schemes of the mapping (see `ThroughputModel`)."""
        return self.loads.keys()

    @property
    def classes(self) -> int:
        """Number of different rows: no experiment distinguishes schemes with equal rows."""
        return len(set(self.loads.values()))

    def cycles(self, table: ExperimentTable) -> Floats:
        """Inverse throughput of each experiment in cycles: float64[len(table)].

        The sparse product of experiments × schemes and schemes × resources, and its largest entry per row.

        Raises:
            UnknownSchemeError: See `ThroughputModel`.
        """
        from scipy.sparse import csr_array  # loads scipy

        unknown = [scheme for scheme in table.schemes if scheme not in self.loads]
        if unknown:
            raise UnknownSchemeError(unknown)
        fullest = np.zeros(len(table))
        if not len(table):
            return fullest
        counts = csr_array(
            (table.count.astype(np.float64), table.scheme, table.offsets), shape=(len(table), table.n_schemes)
        )
        loads = self._matrix(table.schemes)
        for column in range(0, len(self.resources), _COLUMNS):
            dense = loads[:, column : column + _COLUMNS].toarray()
            rows = max(1, _BLOCK // dense.shape[1])
            for row in range(0, len(table), rows):
                block = fullest[row : row + rows]
                np.maximum(block, (counts[row : row + rows] @ dense).max(axis=1), out=block)
        return _round_cycles(fullest)

    def _matrix(self, schemes: Sequence[str]):  # type: ignore[no-untyped-def]  # scipy has no types
        """The loads of some schemes as a sparse array: float64[len(schemes), len(resources)]."""
        from scipy.sparse import csr_array  # loads scipy

        rows = [self.loads[scheme] for scheme in schemes]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return csr_array(
            (
                np.array([load for row in rows for _, load in row], dtype=np.float64),
                np.array([index for row in rows for index, _ in row], dtype=np.int64),
                offsets,
            ),
            shape=(len(rows), len(self.resources)),
        )

    def pressure(self, experiment: Experiment) -> tuple[float, ...]:
        """The load in cycles that one execution of an experiment puts on each resource.

        Raises `UnknownSchemeError`.
        """
        unknown = [scheme for scheme in experiment.schemes if scheme not in self.loads]
        if unknown:
            raise UnknownSchemeError(unknown)
        total = [0.0] * len(self.resources)
        for scheme, count in experiment.terms:
            for index, load in self.loads[scheme]:
                total[index] += count * load
        return tuple(total)

    def inverse_throughput(self, experiment: Experiment) -> float:
        """Cycles per execution of one experiment, 0.0 where it uses nothing. Raises `UnknownSchemeError`."""
        return float(_round_cycles(np.array([max(self.pressure(experiment), default=0.0)]))[0])

    def describe(self, scheme: str) -> str:
        """`R1: 2, R12: 1` (cycles), or "no resources"."""
        return (
            ", ".join(f"{self.resources[k]}: {load:.4g}" for k, load in self.loads[scheme]) or "no resources"
        )


def check_size(n_loads: int) -> None:
    """Raise `InvalidInputError` for more loads than a resource mapping can have."""
    if n_loads > MAX_LOADS:
        raise InvalidInputError(
            f"a resource mapping has at most {MAX_LOADS:,} loads, one per scheme and resource, "
            f"not {n_loads:,}"
        )


def _round_cycles(cycles: Floats) -> Floats:
    """Cycles to 13 significant digits: sums that are mathematically equal become equal floats.

    Without this, rounding would break ties between predictions, which Kendall's τ counts.
    """
    used = cycles > 0
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(cycles, where=used, out=np.zeros_like(cycles))))
    return np.asarray(np.where(used, np.rint(cycles * scale) / scale, 0.0))


def _check_loads(scheme: str, loads: Loads, n_resources: int) -> None:
    low, high = LOAD_RANGE
    previous = -1
    for index, load in loads:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < n_resources:
            raise InvalidInputError(
                f"{scheme!r}: a load names resource {index!r}, but there are {n_resources}, counted from 0"
            )
        if index <= previous:
            raise InvalidInputError(f"loads of {scheme!r} must be sorted by resource, without repeats")
        if isinstance(load, bool) or not (math.isfinite(load) and low <= load <= high):
            raise InvalidInputError(
                f"{scheme!r}: the load on {index!r} must be {low:g} to {high:g} cycles, not {load!r}"
            )
        previous = index


R_MAX = "R_max"
SLOTS = "slots"
MAX_COUNTED_UNIONS = 1 << 16
"""Port sets beyond this number are not counted: the error then says "more than"."""

_NAME_LENGTH = 120
_PAIRS = 1 << 20


class TooManyResourcesError(CoreError):
    """A conversion needs more resources than it may have.

    `count`: how many; exact below `MAX_COUNTED_UNIONS`, where counting stops.
    """

    def __init__(self, count: int, limit: int) -> None:
        self.count = count
        self.limit = limit
        needed = f"more than {MAX_COUNTED_UNIONS:,}" if count >= MAX_COUNTED_UNIONS else f"{count:,}"
        remedy = (
            f"allow more (up to {MAX_RESOURCES:,})"
            if count <= MAX_RESOURCES
            else "use the port mapping itself, which predicts the same"
        )
        super().__init__(
            f"this port mapping needs {needed} resources, one for each union of port sets that overlap, "
            f"and {limit:,} are allowed: {remedy}"
        )


@dataclass(frozen=True)
class Conversion:
    max_resources: int = field(
        default=1024,
        metadata={
            "help": "most resources that a conversion may make; their number can double with every port"
        },
    )

    def __post_init__(self) -> None:
        if isinstance(self.max_resources, bool) or not 1 <= self.max_resources <= MAX_RESOURCES:
            raise InvalidInputError(
                f"max_resources must be a whole number from 1 to {MAX_RESOURCES}, not {self.max_resources!r}"
            )


def from_port_mapping(mapping: PortMapping, settings: Conversion | None = None) -> ResourceMapping:
    """The resource mapping with the same inverse throughputs as a port mapping, its limits included.

    By Theorem 5.2 the inverse throughput is the largest `mass inside Q / |Q|` over the port sets Q. So a
    resource for each Q, on which every µop with ports(u) ⊆ Q puts a load of 1 / |Q|, is an equal model. Few
    are needed:

    - only unions of occurring port sets can be the maximiser (§5.1.4);
    - of these only the connected ones: where the port sets inside Q fall into groups without a common port,
      the quotient of Q is at most that of its fullest group;
    - no resource on which every scheme puts at most the load that it puts on another.

    There can still be as many as port sets, 2^ports − 1. Resources are named after their ports, `[0,1,5]`,
    and after the limits outside them, `R_max` and `slots`.

    Raises:
        TooManyResourcesError: Where more than `settings.max_resources` are needed.
        InvalidInputError: Where all schemes together have more loads than a resource mapping can have.
    """
    limit = (settings or Conversion()).max_resources
    limits = [
        name for name, rate in ((R_MAX, mapping.r_max), (SLOTS, mapping.issue_width)) if rate is not None
    ]
    n_limits = len(limits)
    port_sets = sorted({mask for uops in mapping.usage.values() for mask, _ in uops})
    unions = connected_unions(port_sets, MAX_COUNTED_UNIONS)
    n_alike = Counter(mapping.usage.values())
    rows = list(n_alike)
    if len(unions) <= MAX_RESOURCES:
        unions = unions[_is_needed(_masses(unions, rows), np.bitwise_count(unions).astype(np.int64))]
    if len(unions) + n_limits > limit:
        raise TooManyResourcesError(len(unions) + n_limits, limit)
    widths = np.bitwise_count(unions)
    quotients = _masses(unions, rows) / widths[:, None]
    per_row = np.count_nonzero(quotients, axis=0) + n_limits
    check_size(int(per_row @ np.array([n_alike[row] for row in rows], dtype=np.int64)))
    loads: dict[Uops, Loads] = {
        row: tuple((int(k), float(quotients[k, column])) for k in np.flatnonzero(quotients[:, column]))
        for column, row in enumerate(rows)
    }
    limit_loads = {slots: _limit_loads(mapping, slots, len(unions)) for slots in {1, *mapping.slots.values()}}
    return ResourceMapping(
        resources=(*_names(unions.tolist(), mapping.ports), *limits),
        loads={
            scheme: (*loads[uops], *limit_loads[mapping.slots_of(scheme)])
            for scheme, uops in mapping.usage.items()
        },
    )


def _limit_loads(mapping: PortMapping, slots: int, first: int) -> Loads:
    """An instruction's loads on the limits outside the ports, for resources from `first` on."""
    shares = [
        load / rate for load, rate in ((1, mapping.r_max), (slots, mapping.issue_width)) if rate is not None
    ]
    return tuple((first + k, share) for k, share in enumerate(shares))


def connected_unions(port_sets: Sequence[int], limit: int) -> Int64s:
    """All unions of port sets in which each shares a port with the others, directly or through some.

    `port_sets`: different port masks. Narrow unions come first; at most `limit` are returned.
    """
    masks = np.array(port_sets, dtype=np.int64)
    union_masks = frontier = np.unique(masks)
    while len(frontier) and len(union_masks) < limit:
        step = max(1, _PAIRS // len(masks))
        starts = range(0, len(frontier), step)
        extended = [_extended_unions(frontier[start : start + step], masks) for start in starts]
        frontier = np.setdiff1d(np.concatenate(extended), union_masks)
        union_masks = np.union1d(union_masks, frontier)
    union_masks = union_masks[np.lexsort((union_masks, np.bitwise_count(union_masks)))]
    return union_masks[:limit]


def _extended_unions(unions: Int64s, port_sets: Int64s) -> Int64s:
    pairs = unions[:, None] | port_sets
    return np.unique(pairs[(unions[:, None] & port_sets) != 0])


def _masses(unions: Int64s, rows: Sequence[Uops]) -> Int64s:
    """The µops of each row that can only run inside each union: int64[unions, rows]."""
    inside = np.zeros((len(unions), len(rows)), dtype=np.int64)
    for column, uops in enumerate(rows):
        for mask, count in uops:
            inside[:, column] += np.where(mask & ~unions == 0, count, 0)
    return inside


def _is_needed(masses: Int64s, widths: Int64s) -> npt.NDArray[np.bool_]:
    """Which resources are needed because no other one dominates them: bool[resources].

    Of several equal ones, one is.

    Quotients are compared as whole numbers, `mass · other width`, hence exactly.
    """
    is_needed = np.ones(len(masses), dtype=np.bool_)
    for index in range(len(masses)):
        is_needed[index] = False
        rivals = np.flatnonzero(is_needed)
        for column in np.flatnonzero(masses[index]):
            # Nearly all are ruled out by the first columns, so the rest are not even looked at.
            rivals = rivals[masses[index, column] * widths[rivals] <= masses[rivals, column] * widths[index]]
            if not len(rivals):
                is_needed[index] = True
                break
    return is_needed


def _names(unions: Sequence[int], ports: Sequence[str]) -> tuple[str, ...]:
    """`[0,1,5]` for each set of ports; long names are abridged, equal ones numbered."""
    names: dict[str, None] = {}
    for mask in unions:
        members = [ports[k] for k in ports_in(mask)]
        label = f"[{','.join(members)}]"
        if len(label) > _NAME_LENGTH:
            label = f"[{members[0][:40]},…,{members[-1][:40]}] ({len(members)} ports)"
        name, number = label, 2
        while name in names:
            name, number = f"{label} ({number})", number + 1
        names[name] = None
    return tuple(names)
