"""Port mappings as matrices of schemes and ports, and two of them with differences marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.identity import best_renaming
from inference.core.mapping import PortMapping, Uops


@dataclass(frozen=True)
class MatrixCell:
    """Whether a µop can use a port; `differs`: not so in the other matrix."""

    port: int
    name: str
    used: bool
    differs: bool


@dataclass(frozen=True)
class MatrixLine:
    """`count` equal µops of a scheme, a cell for every port."""

    count: int
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True)
class MatrixRow:
    """A scheme with a line per kind of µop; `times` it occurs in the experiment, 0 without one.

    `described`: whether the mapping has the scheme.
    """

    scheme: str
    times: int
    lines: tuple[MatrixLine, ...]
    differs: bool
    described: bool = True


@dataclass(frozen=True)
class Matrix:
    """Port names as column heads, and the rows."""

    ports: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def side_by_side(
    first: PortMapping, second: PortMapping, experiment: Experiment | None = None
) -> tuple[Matrix, Matrix]:
    """Matrices of both mappings for the first one's schemes; the second has the port names of the first."""
    renamed = best_renaming(first, second).apply(second)
    ports = max(first.ports, renamed.ports, key=len)
    times = {} if experiment is None else dict(experiment.terms)
    return _matrix(first, renamed.usage, ports, times), _matrix(renamed, first.usage, ports, times, first)


def alone(mapping: PortMapping) -> Matrix:
    return _matrix(mapping, mapping.usage, mapping.ports, {})


def _matrix(
    mapping: PortMapping,
    other_usage: Mapping[str, Uops],
    ports: tuple[str, ...],
    times: Mapping[str, int],
    row_source: PortMapping | None = None,
) -> Matrix:
    rows = []
    for scheme in sorted((row_source or mapping).usage):
        uops, other = mapping.usage.get(scheme), other_usage.get(scheme)
        is_described = uops is not None
        lines = tuple(_lines(uops or (), other or (), ports))
        rows.append(MatrixRow(scheme, times.get(scheme, 0), lines, uops != other, is_described))
    return Matrix(ports, tuple(rows))


def _lines(uops: Uops, other: Uops, ports: Sequence[str]) -> Iterator[MatrixLine]:
    """Lines of common µops first, then of the remaining ones, each compared with one of the other's."""
    counts, other_counts = Counter(dict(uops)), Counter(dict(other))
    common = counts & other_counts
    pairs = [(mask, mask) for mask in sorted(common.elements())]
    remaining, partners = sorted((counts - common).elements()), sorted((other_counts - common).elements())
    partners += [0] * (len(remaining) - len(partners))
    pairs += zip(remaining, partners, strict=False)
    for (mask, partner), count in Counter(pairs).items():
        cells = tuple(
            MatrixCell(port, name, bool(mask >> port & 1), bool((mask ^ partner) >> port & 1))
            for port, name in enumerate(ports)
        )
        yield MatrixLine(count, cells)
