"""The conflicts in a set of experiments: read once, clustered once per question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from inference.core.arrays import Floats
from inference.core.pair_conflicts import (
    CONFLICT,
    ConflictMatrix,
    PairConflicts,
    conflict_matrix,
    conflicts_of,
)
from inference.features.conflicts.request import ConflictsBy, ConflictsRequest
from inference.formats.csv_cells import written
from inference.models import ExperimentSet
from inference.models.scheme_search import search_schemes
from inference.storage.rows import ids_of_schemes
from inference.storage.streaming import Chunk, set_chunks

MOST = 400
"""Schemes in a matrix: more are smaller than one can see. A search looks at others."""
_SetRow = tuple[int, datetime]
"""A set's number, which another may have when it is gone, and when it was made."""
PAIRS_HEADER = ("first", "second", "first alone", "second alone", "together", "share")


class TimedExperiment(NamedTuple):
    """Cycles, and the row of the experiment that took them."""

    cycles: float
    experiment_id: int


@dataclass(frozen=True)
class ConflictPair:
    """Two schemes, what each takes alone and both together, and the share of the quicker one added."""

    first: str
    second: str
    alone: tuple[TimedExperiment, TimedExperiment]
    together: TimedExperiment
    share: float


@dataclass(frozen=True)
class SetTimes:
    """Of a set: single schemes, and 1:1 pairs (a, b) with a < b."""

    alone: Mapping[str, TimedExperiment]
    together: Mapping[tuple[str, str], TimedExperiment]


@dataclass(frozen=True, eq=False)
class SetConflicts:
    """`conflicts`: of the schemes asked for; `matrix`: of those in most pairs. `ids`: {scheme: its row}."""

    times: SetTimes
    conflicts: PairConflicts
    matrix: ConflictMatrix
    ids: Mapping[str, int]

    @property
    def left_out(self) -> int:
        """Schemes in pairs that the matrix has no room for."""
        paired = {scheme for pair in self.conflicts.shares for scheme in pair}
        return len(paired) - len(self.matrix.schemes)

    @property
    def competing(self) -> int:
        """Pairs that hinder each other by more than noise does."""
        return sum(share >= CONFLICT for share in self.conflicts.shares.values())

    def rows(self, by: ConflictsBy) -> tuple[Sequence[tuple[str, ...]], Floats]:
        """The schemes of each row, and the shares between the rows, NaN where nothing was measured."""
        if by is ConflictsBy.CLASSES:
            return self.matrix.classes, self.matrix.between_classes()
        return [(scheme,) for scheme in self.matrix.schemes], self.matrix.shares

    def pairs_between(self, first: Iterable[str], second: Iterable[str]) -> list[ConflictPair]:
        """Those of a scheme of the one and a scheme of the other, the largest share first."""
        others = set(second)
        keys = {(min(a, b), max(a, b)) for a in first for b in others if a != b}
        found = [self.pair(*key) for key in keys if key in self.conflicts.shares]
        return sorted(found, key=lambda pair: (-pair.share, pair.first, pair.second))

    def pairs_of(self, scheme: str) -> list[ConflictPair]:
        """All with a scheme, which comes first in each; the largest share first."""
        found = [self.pair(*key) for key in self.conflicts.shares if scheme in key]
        turned = [
            pair
            if pair.first == scheme
            else ConflictPair(scheme, pair.first, (pair.alone[1], pair.alone[0]), pair.together, pair.share)
            for pair in found
        ]
        return sorted(turned, key=lambda pair: (-pair.share, pair.second))

    def pair(self, first: str, second: str) -> ConflictPair:
        """Of two schemes in the order of their texts. Raises `KeyError`."""
        alone = self.times.alone[first], self.times.alone[second]
        key = first, second
        return ConflictPair(first, second, alone, self.times.together[key], self.conflicts.shares[key])


def conflicts_in(experiment_set: ExperimentSet, asked: ConflictsRequest) -> SetConflicts:
    """Of a set's usable measurements. Raises `SearchError` for a search that cannot be read."""
    wanted = None
    if asked.q:
        schemes = search_schemes(experiment_set.isa.schemes.all(), asked.q)
        wanted = frozenset(schemes.values_list("text", flat=True))
    row = experiment_set.pk, experiment_set.created
    return _found(row, experiment_set.measurements.count(), wanted)


@lru_cache(maxsize=4)
def _found(row: _SetRow, measurements: int, wanted: frozenset[str] | None) -> SetConflicts:
    times = _times(row, measurements)
    conflicts = conflicts_of(
        {scheme: time.cycles for scheme, time in times.alone.items() if wanted is None or scheme in wanted},
        {pair: time.cycles for pair, time in times.together.items()},
    )
    matrix = conflict_matrix(conflicts, MOST)
    isa = ExperimentSet.objects.values_list("isa", flat=True).get(pk=row[0])
    return SetConflicts(times, conflicts, matrix, ids_of_schemes(isa, conflicts.alone))


@lru_cache(maxsize=2)
def _times(row: _SetRow, measurements: int) -> SetTimes:
    del measurements  # with more of them it is another question
    found = ExperimentSet.objects.select_related("isa").get(pk=row[0])
    alone: dict[str, TimedExperiment] = {}
    together: dict[tuple[str, str], TimedExperiment] = {}
    for chunk in set_chunks(found, longest=2):
        for schemes, time in _timed(chunk):
            if len(schemes) == 1:
                alone[schemes[0]] = time
            else:
                together[min(schemes), max(schemes)] = time
    return SetTimes(alone, together)


def _timed(chunk: Chunk) -> Iterator[tuple[tuple[str, ...], TimedExperiment]]:
    """The experiments of one scheme once, or of two once each; two of one scheme are neither."""
    table = chunk.table
    terms = np.diff(table.offsets)
    plain = np.flatnonzero(terms == table.lengths)
    names = [table.schemes[number] for number in table.scheme.tolist()]
    columns = (table.offsets[plain], terms[plain], chunk.cycles[plain], chunk.experiments[plain])
    for begin, count, cycles, experiment in zip(*(column.tolist() for column in columns), strict=True):
        yield tuple(names[begin : begin + count]), TimedExperiment(cycles, experiment)


def write_pairs_csv(found: SetConflicts) -> str:
    """A row for every pair, those of a scheme together."""
    rows = (found.pair(*key) for key in sorted(found.conflicts.shares))
    cells = (
        (each.first, each.second, *(one.cycles for one in each.alone), each.together.cycles, each.share)
        for each in rows
    )
    return written(PAIRS_HEADER, cells)
