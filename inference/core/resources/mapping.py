"""Resource mappings as values, and the inverse throughputs that they predict (thesis ch. 7, Fig. 7.1b)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Floats
from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.tables import ExperimentTable

MAX_RESOURCES = 4096  # Palmed's models have some twenty; a conversion can have as many as there are port sets
MAX_LOADS = 1_000_000  # rows of a database; Palmed's models have a tenth of that
LOAD_RANGE = (1e-9, 1e9)  # cycles; below it a load is noise, beyond it no instruction was measured

Loads = tuple[tuple[int, float], ...]
"""The loads of one scheme: ((resource index, cycles > 0), …), sorted by index; () where there is none."""

_BLOCK = 1 << 22
"""Numbers in a block of experiments × resources: 32 MiB, whatever is evaluated."""
_COLUMNS = 256
_DIGITS = 13


@dataclass(frozen=True)
class ResourceMapping:
    """How many cycles of which abstract resources one instance of each instruction scheme takes up.

    `resources`: names, in the order of their indices. `loads`: scheme text → loads. Whatever limits the
    processor beside its ports (R_max of a port mapping) is a resource like any other. A `ThroughputModel`.

    Raises `InvalidInputError` for names that repeat and for a load that no instruction can have.
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
        """The schemes that it knows (see `ThroughputModel`)."""
        return self.loads.keys()

    @property
    def classes(self) -> int:
        """Number of different rows: schemes of one class cannot be told apart by any experiment."""
        return len(set(self.loads.values()))

    def cycles(self, table: ExperimentTable) -> Floats:
        """Inverse throughput of each experiment in cycles (see `ThroughputModel`): float64[len(table)].

        The sparse product of experiments × schemes and schemes × resources, and its largest entry per row.
        Raises `UnknownSchemeError`.
        """
        from scipy.sparse import csr_array  # loads scipy

        unknown = [scheme for scheme in table.schemes if scheme not in self.loads]
        if unknown:
            raise UnknownSchemeError(unknown)
        most = np.zeros(len(table))
        if not len(table):
            return most
        counts = csr_array(
            (table.count.astype(np.float64), table.scheme, table.offsets), shape=(len(table), table.n_schemes)
        )
        loads = self._matrix(table.schemes)
        for column in range(0, len(self.resources), _COLUMNS):
            some = loads[:, column : column + _COLUMNS].toarray()
            rows = max(1, _BLOCK // some.shape[1])
            for row in range(0, len(table), rows):
                part = most[row : row + rows]
                np.maximum(part, (counts[row : row + rows] @ some).max(axis=1), out=part)
        return _settled(most)

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
        return float(_settled(np.array([max(self.pressure(experiment), default=0.0)]))[0])

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


def _settled(cycles: Floats) -> Floats:
    """Cycles to 13 significant digits: sums that are equal on paper are equal, in whichever order they came.

    Without this, rounding would break ties between predictions, which Kendall's τ counts.
    """
    used = cycles > 0
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(cycles, where=used, out=np.zeros_like(cycles))))
    return np.asarray(np.where(used, np.rint(cycles * scale) / scale, 0.0))


def _check_loads(scheme: str, loads: Loads, n_resources: int) -> None:
    low, high = LOAD_RANGE
    before = -1
    for index, load in loads:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < n_resources:
            raise InvalidInputError(
                f"{scheme!r}: a load names resource {index!r}, but there are {n_resources}, counted from 0"
            )
        if index <= before:
            raise InvalidInputError(f"loads of {scheme!r} must be sorted by resource, without repeats")
        if isinstance(load, bool) or not (math.isfinite(load) and low <= load <= high):
            raise InvalidInputError(
                f"{scheme!r}: the load on {index!r} must be {low:g} to {high:g} cycles, not {load!r}"
            )
        before = index
