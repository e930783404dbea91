"""Experiments and mappings as flat arrays, the form in which thousands of them are evaluated.

Both are compressed rows (CSR): `offsets[i]:offsets[i + 1]` are the entries of row i.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, check_ports, uops_of
from inference.core.tunables import check_integer

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[Any]
"""Whole numbers of any width: tables use the narrowest type that holds them."""

Int32s = npt.NDArray[np.int32]
Masks = npt.NDArray[np.int64] | npt.NDArray[np.int16]
Counts = npt.NDArray[np.int32] | npt.NDArray[np.int16]

MAX_COUNT = int(np.iinfo(np.int32).max)
"""Largest multiplicity of a scheme, and largest count of a µop."""


_CHUNK_ENTRIES = 1 << 20
"""Entries of a population that are converted to wide integers at a time."""


def row_types(n_ports: int, max_count: int) -> tuple[type[np.signedinteger], type[np.signedinteger]]:
    """The narrowest types for port sets and for counts up to `max_count`.

    There are only two pairs of types, because the compiled loops are compiled for each.
    """
    narrow = n_ports < np.iinfo(np.int16).bits and max_count <= np.iinfo(np.int16).max
    return (np.int16, np.int16) if narrow else (np.int64, np.int32)


@dataclass(frozen=True, eq=False)
class ExperimentTable:
    """A list of experiments over a fixed order of schemes.

    Args:
        schemes: Texts; the index is the scheme's number.
        offsets: int64[n + 1].
        scheme: int32[entries], scheme numbers, ascending within an experiment.
        count: int32[entries], multiplicities ≥ 1.
        lengths: int64[n], the number of instructions of each experiment.

    Raises:
        InvalidInputError: For arrays that contradict this.
    """

    schemes: tuple[str, ...]
    offsets: Int64s
    scheme: Int32s
    count: Int32s
    lengths: Int64s

    def __post_init__(self) -> None:
        entries = len(self.scheme)
        _check_offsets(self.offsets, len(self.lengths), entries, "an experiment table")
        if self.count.shape != (entries,):
            raise InvalidInputError(f"{entries} schemes need as many multiplicities, not {self.count.shape}")
        _check_integers(self.scheme, "scheme numbers of an experiment table")
        _check_integers(self.count, "multiplicities of an experiment table")
        if entries and not 0 <= self.scheme.min() <= self.scheme.max() < self.n_schemes:
            numbers = f"{self.scheme.min()} to {self.scheme.max()}"
            raise InvalidInputError(f"scheme numbers run from 0 to {self.n_schemes - 1}, not {numbers}")
        _check_counts(self.count, "a multiplicity")
        rises = np.ones(entries + 1, dtype=bool)
        rises[1:-1] = self.scheme[1:] > self.scheme[:-1]
        rises[self.offsets] = True
        if not rises.all():
            raise InvalidInputError("scheme numbers must rise within an experiment")
        instructions = np.concatenate(([0], np.cumsum(self.count, dtype=np.int64)))
        if not np.array_equal(np.diff(instructions[self.offsets]), self.lengths):
            raise InvalidInputError(
                "the lengths of an experiment table must be the sums of its multiplicities"
            )

    @classmethod
    def from_experiments(
        cls, experiments: Iterable[Experiment], schemes: Sequence[str] | None = None
    ) -> ExperimentTable:
        """Lay out experiments; `schemes` fixes the numbering, by default those that occur, sorted.

        Raises:
            UnknownSchemeError: For a scheme outside `schemes`.
            InvalidInputError: For repeats in `schemes`, or a multiplicity above `MAX_COUNT`.
        """
        rows = list(experiments)
        if schemes is None:
            schemes = sorted({scheme for experiment in rows for scheme in experiment.schemes})
        number = {scheme: k for k, scheme in enumerate(schemes)}
        if len(number) != len(schemes):
            raise InvalidInputError("the schemes of an experiment table must differ")
        unknown = {scheme for experiment in rows for scheme in experiment.schemes if scheme not in number}
        if unknown:
            raise UnknownSchemeError(unknown)
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(experiment.terms) for experiment in rows], out=offsets[1:])
        terms = [term for e in rows for term in sorted((number[scheme], count) for scheme, count in e.terms)]
        if any(count > MAX_COUNT for _, count in terms):
            raise InvalidInputError(f"a multiplicity may be at most {MAX_COUNT}")
        return cls(
            schemes=tuple(schemes),
            offsets=offsets,
            scheme=np.array([scheme for scheme, _ in terms], dtype=np.int32),
            count=np.array([count for _, count in terms], dtype=np.int32),
            lengths=np.array([experiment.length for experiment in rows], dtype=np.int64),
        )

    def experiment(self, number: int) -> Experiment:
        entries = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        terms = zip(self.scheme[entries].tolist(), self.count[entries].tolist(), strict=True)
        return Experiment.of({self.schemes[scheme]: count for scheme, count in terms})

    def selected(self, experiments: Int64s, schemes: Int64s) -> ExperimentTable:
        """The table of some experiments over some schemes; both are numbers in ascending order.

        The experiments must not contain other schemes.
        """
        sizes = np.diff(self.offsets)[experiments]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        entries = np.repeat(self.offsets[experiments] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return ExperimentTable(
            schemes=tuple(self.schemes[scheme] for scheme in schemes.tolist()),
            offsets=offsets,
            scheme=np.searchsorted(schemes, self.scheme[entries]).astype(np.int32),
            count=self.count[entries],
            lengths=self.lengths[experiments],
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def n_schemes(self) -> int:
        """Number of schemes in the numbering, whether they occur or not."""
        return len(self.schemes)

    @cached_property
    def occurring(self) -> Int32s:
        """The numbers of the schemes that occur in some experiment, ascending."""
        return np.unique(self.scheme)

    def containing(self, scheme: int) -> Int64s:
        """The experiments in which a scheme number occurs, ascending."""
        offsets, experiments = self.by_scheme
        return experiments[offsets[scheme] : offsets[scheme + 1]]

    @cached_property
    def same_schemes(self) -> tuple[Int64s, Int64s]:
        """Groups of experiments with the same schemes and any multiplicities.

        Two int64 arrays: group g has the experiments `members[starts[g]:starts[g + 1]]`.
        """
        groups: dict[bytes, list[int]] = {}
        for e, (first, last) in enumerate(pairwise(self.offsets.tolist())):
            groups.setdefault(self.scheme[first:last].tobytes(), []).append(e)
        starts = np.zeros(len(groups) + 1, dtype=np.int64)
        np.cumsum([len(group) for group in groups.values()], out=starts[1:])
        return starts, np.array([e for group in groups.values() for e in group], dtype=np.int64)

    @cached_property
    def by_scheme(self) -> tuple[Int64s, Int64s]:
        """Starts and members: scheme s occurs in the experiments `members[starts[s]:starts[s + 1]]`."""
        owner = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))
        order = np.argsort(self.scheme, kind="stable")
        offsets = np.zeros(self.n_schemes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.scheme, minlength=self.n_schemes), out=offsets[1:])
        return offsets, owner[order]


@dataclass(frozen=True, eq=False)
class Population:
    """Many mappings over the same schemes and ports.

    Row `m * n_schemes + s` holds the µops of scheme s in mapping m: `masks` [entries] (bit k = port k),
    `counts` [entries] ≥ 1. A mask may occur twice in a row; its counts add up. Arrays are int64 and int32,
    or, where many mappings have to fit into memory, of the types that `row_types` chooses. R_max is the
    evaluator's.

    Raises:
        InvalidInputError: For arrays that contradict this.
    """

    offsets: Int64s
    masks: Masks
    counts: Counts
    n_mappings: int
    n_schemes: int
    n_ports: int

    def __post_init__(self) -> None:
        check_ports(self.n_ports)
        rows = self.n_mappings * self.n_schemes
        if self.masks.shape != self.counts.shape:
            raise InvalidInputError(
                f"a population needs as many masks as counts, not {self.masks.shape} and {self.counts.shape}"
            )
        _check_offsets(self.offsets, rows, len(self.masks), "a population")
        _check_integers(self.masks, "port sets of a population")
        _check_integers(self.counts, "µop counts of a population")
        if len(self.masks) and (self.masks.min() < 1 or int(self.masks.max()) >= 1 << self.n_ports):
            raise InvalidInputError(
                f"a port set is empty, or names a port beyond the {self.n_ports} there are"
            )
        _check_counts(self.counts, "a µop count")

    @classmethod
    def from_mappings(cls, mappings: Sequence[PortMapping], schemes: Sequence[str]) -> Population:
        """Lay out mappings over `schemes`; all must have the same number of ports.

        Raises:
            UnknownSchemeError: Where a mapping lacks one of the schemes.
            InvalidInputError: For mappings with different numbers of ports.
        """
        widths = {len(mapping.ports) for mapping in mappings}
        if len(widths) != 1:
            raise InvalidInputError(
                f"the mappings of a population need the same number of ports, not {sorted(widths)}"
            )
        unknown = {scheme for mapping in mappings for scheme in schemes if scheme not in mapping.usage}
        if unknown:
            raise UnknownSchemeError(unknown)
        rows = [mapping.usage[scheme] for mapping in mappings for scheme in schemes]
        return cls.from_rows(rows, len(mappings), widths.pop())

    @classmethod
    def from_rows(cls, rows: Sequence[Uops], n_mappings: int, n_ports: int) -> Population:
        """Lay out the µops of all schemes of the first mapping, then of the second, and so on."""
        if n_mappings < 1 or len(rows) % n_mappings:
            raise InvalidInputError(f"{len(rows)} rows do not divide into {n_mappings} mappings")
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return cls(
            offsets=offsets,
            masks=_integer_array([mask for row in rows for mask, _ in row], "a port set", np.int64),
            counts=_integer_array([count for row in rows for _, count in row], "a µop count", np.int32),
            n_mappings=n_mappings,
            n_schemes=len(rows) // n_mappings,
            n_ports=n_ports,
        )

    def row(self, mapping: int, scheme: int) -> Uops:
        """The µops of one scheme in one mapping, in canonical form.

        Raises `InvalidInputError` for a number that no mapping or scheme has.
        """
        check_integer("the number of a mapping", mapping, 0, self.n_mappings - 1)
        check_integer("the number of a scheme", scheme, 0, self.n_schemes - 1)
        at = mapping * self.n_schemes + scheme
        span = slice(int(self.offsets[at]), int(self.offsets[at + 1]))
        return uops_of(zip(self.masks[span].tolist(), self.counts[span].tolist(), strict=True))

    def mapping(
        self, index: int, schemes: Sequence[str], ports: Sequence[str], r_max: float | None = None
    ) -> PortMapping:
        """One mapping as a value; a population knows no issue slots."""
        usage = {scheme: self.row(index, k) for k, scheme in enumerate(schemes)}
        return PortMapping(ports=tuple(ports), usage=usage, r_max=r_max)

    def volumes(self) -> Int64s:
        """µop volume Σ count · |ports| (thesis §5.1.3) of each mapping: int64[n_mappings]."""
        out = np.zeros(self.n_mappings, dtype=np.int64)
        ends = self._ends
        for first, last in self._pieces():
            span = slice(int(ends[first]), int(ends[last]))
            weight = self.counts[span].astype(np.int64) * np.bitwise_count(self.masks[span])
            total = np.concatenate(([0], np.cumsum(weight)))
            out[first:last] = np.diff(total[ends[first : last + 1] - span.start])
        return out

    def most_uops(self) -> int:
        largest = 0
        for first, last in self._pieces():
            offsets = self.offsets[first * self.n_schemes : last * self.n_schemes + 1]
            counts = self.counts[int(offsets[0]) : int(offsets[-1])]
            total = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
            largest = max(largest, int(np.diff(total[offsets - offsets[0]]).max(initial=0)))
        return largest

    @property
    def _ends(self) -> Int64s:
        """Where the entries of each mapping begin and end: int64[n_mappings + 1]."""
        if not self.n_schemes:
            return np.zeros(self.n_mappings + 1, dtype=np.int64)
        return self.offsets[:: self.n_schemes]

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of mappings with about `_CHUNK_ENTRIES` entries each."""
        size = max(1, _CHUNK_ENTRIES * self.n_mappings // max(1, len(self.masks)))
        for first in range(0, self.n_mappings, size):
            yield first, min(first + size, self.n_mappings)


def _check_offsets(offsets: Int64s, rows: int, entries: int, owner: str) -> None:
    if offsets.shape != (rows + 1,):
        raise InvalidInputError(f"{owner} of {rows} rows needs {rows + 1} offsets, not {offsets.shape}")
    if offsets[0] != 0 or offsets[-1] != entries or np.any(np.diff(offsets) < 0):
        raise InvalidInputError(f"offsets of {owner} must rise from 0 to its {entries} entries")


def _check_integers(values: npt.NDArray[np.integer], label: str) -> None:
    if values.dtype.kind != "i":
        raise InvalidInputError(f"{label} must be whole numbers, not {values.dtype}")


def _check_counts(counts: npt.NDArray[np.integer], label: str) -> None:
    if len(counts) and counts.min() < 1:
        raise InvalidInputError(f"{label} must be at least 1, not {counts.min()}")
    if len(counts) and counts.max() > MAX_COUNT:
        raise InvalidInputError(f"{label} may be at most {MAX_COUNT}, not {counts.max()}")


def _integer_array(values: Sequence[int], label: str, kind: type[np.signedinteger]) -> npt.NDArray[Any]:
    """The values as an array; numpy alone would round, wrap around, or take True for 1."""
    limit = int(np.iinfo(kind).max)
    array = np.array(values) if values else np.empty(0, dtype=kind)
    if array.dtype.kind != "i" or array.max(initial=0) > limit:
        wrong = next(
            value
            for value in values
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value > limit
        )
        raise InvalidInputError(f"{label} must be a whole number, at most {limit}, not {wrong!r}")
    return array.astype(kind)
