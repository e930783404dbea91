"""The Boolean matrix that a search solves for, with a row for every µop and a column for every port.

A candidate is the matrix as one port mask per row. Rows of one scheme are next to each other. Throughput
cannot tell columns apart, nor rows of one scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from inference.core.experiment import Experiment
from inference.core.identity.searching import decimal
from inference.core.mapping import PortMapping, uops_of

Candidate = tuple[int, ...]
"""A port mask per row of the shape."""


@dataclass(frozen=True)
class Shape:
    """Schemes in the order of their rows, the µops of each, and the number of ports.

    `epsilon` and `r_max` as in the settings.

    Attributes:
        widths: {scheme: size of its port set} where known.
        known: {scheme: its port set}.
        improper: Schemes whose first row has the ports of a scheme with one row (§6.3.4).
        apart: Pairs of sets of schemes that share no port.
        is_full: Every port is used.
    """

    schemes: tuple[str, ...]
    counts: tuple[int, ...]
    ports: int
    epsilon: float
    r_max: float | None = None
    widths: Mapping[str, int] | None = None
    improper: tuple[str, ...] = ()
    apart: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()
    known: Mapping[str, int] | None = None
    is_full: bool = False

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """For each row, the index of its scheme."""
        return tuple(i for i, count in enumerate(self.counts) for _ in range(count))

    @cached_property
    def rows_of(self) -> tuple[range, ...]:
        """For each scheme, its rows."""
        ends = [sum(self.counts[: i + 1]) for i in range(len(self.counts))]
        return tuple(range(end - count, end) for end, count in zip(ends, self.counts, strict=True))

    @cached_property
    def index(self) -> dict[str, int]:
        return {scheme: i for i, scheme in enumerate(self.schemes)}

    @property
    def is_two_level(self) -> bool:
        """Whether every scheme has one µop."""
        return all(count == 1 for count in self.counts)

    @cached_property
    def margin(self) -> Fraction:
        """2ε in cycles per instruction: predictions that differ by more can be distinguished (§4.3)."""
        return 2 * decimal(self.epsilon)

    @cached_property
    def floor(self) -> Fraction:
        """The fewest cycles per instruction that R_max allows."""
        return Fraction(0) if self.r_max is None else 1 / decimal(self.r_max)

    def mapping(self, candidate: Candidate) -> PortMapping:
        usage = {
            scheme: uops_of((candidate[row], 1) for row in rows)
            for scheme, rows in zip(self.schemes, self.rows_of, strict=True)
        }
        return PortMapping(tuple(map(str, range(self.ports))), dict(sorted(usage.items())), self.r_max)


@dataclass(frozen=True)
class Observation:
    """A measured experiment: `work` µops of each row it uses, and the open interval that tp⁻¹ may lie in.

    `low` is None where the measurement gives no lower bound: R_max or the noise explains all of it.
    """

    experiment: Experiment
    cycles: float
    work: Mapping[int, int]
    low: Fraction | None
    high: Fraction

    @classmethod
    def of(cls, shape: Shape, experiment: Experiment, cycles: float, wasted: float = 0.0) -> Observation:
        """The interval that measured cycles imply (§4.3).

        Args:
            shape: Has the rows, ε and R_max.
            experiment: Experiment of the shape's schemes.
            cycles: Measured, per execution of the experiment.
            wasted: The share of the measured time that waste may explain, 0 to 1.
        """
        measured, length = Fraction(cycles), experiment.length
        off = shape.margin / 2 * length  # ε cycles for each instruction
        shortest = measured * (1 - Fraction(wasted)) - off
        low = None if shortest <= 0 or shape.floor * length > shortest else shortest
        work = {
            row: count for scheme, count in experiment.terms for row in shape.rows_of[shape.index[scheme]]
        }
        # Where R_max alone takes as long as `high`, no mapping explains the measurement: 0 admits none.
        high = measured + off if shape.floor * length < measured + off else Fraction(0)
        return cls(experiment, cycles, work, low, high)

    @property
    def no_limit(self) -> Fraction:
        """A time that no matrix reaches; as `high`, it is no constraint."""
        return Fraction(sum(self.work.values()) + 1)

    def holds(self, candidate: Candidate) -> bool:
        slowest = max(Fraction(mass, width) for _, mass, width in self.bounds(candidate))
        return slowest < self.high and (self.low is None or slowest > self.low)

    def bounds(self, candidate: Candidate) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """(rows confined to a port set, their µops, size of the set), for every union of port sets."""
        for union in unions(candidate[row] for row in self.work):
            rows = tuple(row for row in self.work if candidate[row] & ~union == 0)
            yield rows, sum(self.work[row] for row in rows), union.bit_count()


def unions(masks: Iterator[int] | Sequence[int]) -> set[int]:
    """All unions of one or more of the masks."""
    closure = {0}
    for mask in set(masks):
        closure |= {union | mask for union in closure}
    return closure - {0}
