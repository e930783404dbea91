"""The conflicts between schemes in an experiment set: reading, cache, and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from django.urls import reverse

from inference.core.experiment import MeasurementState
from inference.core.pair_conflicts import (
    MIN_CONFLICT,
    ConflictMatrix,
    PairConflicts,
    conflict_matrix,
    conflicts_of,
)
from inference.core.protocols import Json
from inference.core.tables import Bools, ExperimentTable, Floats, Int64s
from inference.features.judging.engine.tables import LinkedNumber, code, number, table_of, text
from inference.features.judging.findings.request import ConflictsBy, ConflictsRequest
from inference.models import ExperimentSet
from inference.models.scheme_search import search_schemes
from inference.storage.rows import ids_of_schemes, scheme_texts
from inference.storage.streaming import CHUNK, table_of_keys
from inference.web.published_page import PublishedTable

MAX_SCHEMES = 400
"""Schemes in a matrix; the cells of more would be too small. A search selects others."""
_SetRow = tuple[int, datetime]
"""A set's row id and time of creation, since ids of deleted sets are reused."""
MAX_NAMED = 4
"""Schemes of a class that its row names."""


class TimedExperiment(NamedTuple):
    """Cycles, and the row id of the measured experiment."""

    cycles: float
    experiment_id: int


@dataclass(frozen=True)
class ConflictPair:
    """Two schemes, their cycles alone and together, and the share of the faster one's cycles that is
    added."""

    first: str
    second: str
    alone: tuple[TimedExperiment, TimedExperiment]
    together: TimedExperiment
    share: float


_TIMED = np.dtype([("cycles", np.float64), ("experiment_id", np.int64)])
TimedExperiments = npt.NDArray[np.void]
"""A structured array of experiments, with the fields of `TimedExperiment`."""


@dataclass(frozen=True, eq=False)
class SetTimes:
    """The times of single schemes and of their 1:1 pairs, in the order of `PairConflicts`."""

    schemes: Sequence[str]
    alone: TimedExperiments
    pairs: Int64s
    together: TimedExperiments

    def of(self, texts: frozenset[str]) -> SetTimes:
        """The times of these schemes and of the pairs among them."""
        selected = np.array([scheme in texts for scheme in self.schemes], dtype=np.bool_)
        within = selected[self.pairs[:, 0]] & selected[self.pairs[:, 1]]
        place = np.cumsum(selected) - 1
        schemes = [scheme for scheme in self.schemes if scheme in texts]
        return SetTimes(schemes, self.alone[selected], place[self.pairs[within]], self.together[within])


@dataclass(frozen=True, eq=False)
class SetConflicts:
    """`conflicts`: of the requested schemes; `matrix`: of those in most pairs. `ids`: {scheme: row id}."""

    times: SetTimes
    conflicts: PairConflicts
    matrix: ConflictMatrix
    ids: Mapping[str, int]

    @property
    def left_out(self) -> int:
        """Number of schemes in pairs without a row in the matrix."""
        return len(self.conflicts.paired()) - len(self.matrix.schemes)

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {scheme: place for place, scheme in enumerate(self.times.schemes)}

    def alone(self, scheme: str) -> TimedExperiment:
        """The cycles of one instance of a scheme. Raises `KeyError`."""
        return TimedExperiment(*self.times.alone[self._place[scheme]].item())

    def alone_json(self, scheme: str) -> Json:
        return {"scheme_id": self.ids[scheme], "scheme": scheme, **self.alone(scheme)._asdict()}

    def pair_json(self, pair: ConflictPair) -> Json:
        alone = {"first": self.alone_json(pair.first), "second": self.alone_json(pair.second)}
        return {**alone, **pair.together._asdict(), "share": round(pair.share, 4)}

    def rows(self, by: ConflictsBy) -> tuple[Sequence[tuple[str, ...]], Floats]:
        """(schemes of each row, shares between the rows); NaN for a pair that was not measured."""
        if by is ConflictsBy.CLASSES:
            return self.matrix.classes, self.matrix.between_classes()
        return [(scheme,) for scheme in self.matrix.schemes], self.matrix.shares

    def pairs_between(self, first: Iterable[str], second: Iterable[str]) -> list[ConflictPair]:
        """The pairs of a scheme of `first` and a scheme of `second`, the largest share first."""
        has_first, has_second = (self._has(schemes) for schemes in (first, second))
        pairs = self._pairs_at(has_first[:, 0] & has_second[:, 1] | has_first[:, 1] & has_second[:, 0])
        return sorted(pairs, key=lambda pair: (-pair.share, pair.first, pair.second))

    def pairs_of(self, scheme: str) -> list[ConflictPair]:
        """The pairs with a scheme, which is `first` in each; the largest share first."""
        has_scheme = self._has([scheme])
        pairs = [
            pair
            if pair.first == scheme
            else ConflictPair(scheme, pair.first, (pair.alone[1], pair.alone[0]), pair.together, pair.share)
            for pair in self._pairs_at(has_scheme[:, 0] | has_scheme[:, 1])
        ]
        return sorted(pairs, key=lambda pair: (-pair.share, pair.second))

    def all_pairs(self) -> list[ConflictPair]:
        """All pairs, in the order of the texts of their schemes."""
        return self._pairs_at(np.ones(len(self.times.pairs), dtype=np.bool_))

    def _has(self, schemes: Iterable[str]) -> Bools:
        """bool[p, 2]: whether the first and the second scheme of each pair are among these."""
        selected = np.zeros(len(self.times.schemes), dtype=np.bool_)
        selected[[self._place[scheme] for scheme in schemes if scheme in self._place]] = True
        return selected[self.times.pairs]

    def _pairs_at(self, selection: Bools) -> list[ConflictPair]:
        times = self.times
        pairs = []
        for at in np.flatnonzero(selection).tolist():
            first, second = (times.schemes[end] for end in times.pairs[at].tolist())
            together = TimedExperiment(*times.together[at].item())
            alone = self.alone(first), self.alone(second)
            pairs.append(ConflictPair(first, second, alone, together, float(self.conflicts.shares[at])))
        return pairs


def conflicts_in(experiment_set: ExperimentSet, conflicts_request: ConflictsRequest) -> SetConflicts:
    """The conflicts in a set's settled measurements. Raises `SearchError` for an invalid search."""
    texts = None
    if conflicts_request.q:
        schemes = search_schemes(experiment_set.isa.schemes.all(), conflicts_request.q)
        texts = frozenset(schemes.values_list("text", flat=True))
    row = experiment_set.pk, experiment_set.created
    return _cached_conflicts(row, experiment_set.measurements.count(), texts)


@lru_cache(maxsize=4)
def _cached_conflicts(row: _SetRow, measurements: int, texts: frozenset[str] | None) -> SetConflicts:
    times = _times(row, measurements)
    if texts is not None:
        times = times.of(texts)
    conflicts = conflicts_of(times.schemes, times.alone["cycles"], times.pairs, times.together["cycles"])
    isa = ExperimentSet.objects.values_list("isa", flat=True).get(pk=row[0])
    matrix = conflict_matrix(conflicts, MAX_SCHEMES)
    return SetConflicts(times, conflicts, matrix, ids_of_schemes(isa, times.schemes))


@lru_cache(maxsize=2)
def _times(row: _SetRow, measurements: int) -> SetTimes:
    del measurements  # part of the cache key: new measurements invalidate it
    parts = list(_settled_experiments(ExperimentSet.objects.select_related("isa").get(pk=row[0])))
    schemes = sorted({scheme for table, *_ in parts for scheme in table.schemes})
    place = {scheme: number for number, scheme in enumerate(schemes)}
    empty = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=_TIMED), np.empty(0, dtype=np.int64)
    columns = [empty, *(_single_and_pairs(*part, place) for part in parts)]
    ends, timed, ids = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(ids, kind="stable")  # faster than sorting in the database
    ends, timed = ends[order], timed[order]
    # One key per pair of places. The first of each key in reversed order is the newest measurement of it.
    _, first_reversed = np.unique((ends @ (len(schemes), 1))[::-1], return_index=True)
    newest = len(ends) - 1 - first_reversed
    is_single = ends[newest, 0] == ends[newest, 1]
    alone, together = newest[is_single], newest[~is_single]
    measured_alone = ends[alone, 0]
    new_place = np.full(len(schemes), -1)  # -1: not measured alone, so its pairs have nothing to compare with
    new_place[measured_alone] = np.arange(len(measured_alone))
    together = together[(new_place[ends[together]] >= 0).all(axis=1)]
    texts = [schemes[number] for number in measured_alone.tolist()]
    return SetTimes(texts, timed[alone], new_place[ends[together]], timed[together])


def _settled_experiments(
    experiment_set: ExperimentSet,
) -> Iterator[tuple[ExperimentTable, TimedExperiments, Int64s]]:
    """Yields (table, times, measurement ids) of settled experiments of up to two instances, in no order.

    Reads fewer columns than `set_chunks`.
    """
    texts = scheme_texts(experiment_set.isa)
    rows = experiment_set.measurements.filter(length__lte=2, state=MeasurementState.SETTLED).order_by()
    values = rows.values_list("experiment__key", "cycles", "experiment_id", "id").iterator(chunk_size=CHUNK)
    while part := list(islice(values, CHUNK)):
        keys, cycles, experiments, ids = zip(*part, strict=True)
        timed = np.array(list(zip(cycles, experiments, strict=True)), dtype=_TIMED)
        yield table_of_keys(keys, texts), timed, np.array(ids)


def _single_and_pairs(
    table: ExperimentTable, timed: TimedExperiments, ids: Int64s, place: Mapping[str, int]
) -> tuple[Int64s, TimedExperiments, Int64s]:
    """(places int64[n, 2], times, ids) of experiments of one scheme, whose places are equal, or of two."""
    plain = np.diff(table.offsets) == table.lengths
    places = np.array([place[scheme] for scheme in table.schemes], dtype=np.int64)[table.scheme]
    ends = places[np.column_stack((table.offsets[:-1], table.offsets[1:] - 1))[plain]]
    return np.sort(ends, axis=1), timed[plain], ids[plain]


def pairs_table(pairs: Iterable[ConflictPair]) -> PublishedTable:
    """A row per pair; on a page, its cycles link to the experiments."""

    def linked(time: TimedExperiment) -> LinkedNumber:
        return LinkedNumber(time.cycles, reverse("experiment", args=[time.experiment_id]))

    return table_of(
        "pairs",
        "Pairs",
        pairs,
        (code("first"), lambda pair: pair.first),
        (code("second"), lambda pair: pair.second),
        (number("first alone"), lambda pair: linked(pair.alone[0])),
        (number("second alone"), lambda pair: linked(pair.alone[1])),
        (number("together"), lambda pair: linked(pair.together)),
        (number("share"), lambda pair: pair.share),
    )


def classes_table(conflicts: SetConflicts) -> PublishedTable:
    """A row per class, with some of its schemes and the numbers of the classes it competes with."""
    classes, shares = conflicts.rows(ConflictsBy.CLASSES)

    def some_schemes(place: int) -> str:
        members = classes[place]
        return "; ".join(members[:MAX_NAMED]) + (
            f" and {len(members) - MAX_NAMED} more" if members[MAX_NAMED:] else ""
        )

    def competitors(place: int) -> str:
        return ", ".join(
            f"{other + 1} ({100 * share:.0f} %)"
            for other, share in enumerate(shares[place].tolist())
            if other != place and share >= MIN_CONFLICT
        )

    return table_of(
        "classes",
        f"{conflicts.conflicts.competing:,} of {len(conflicts.conflicts.pairs):,} pairs compete",
        range(len(classes)),
        (number("class", 0), lambda place: place + 1),
        (code("schemes"), some_schemes),
        (text("competes with"), competitors),
    )


def conflicts_json(row: ExperimentSet, conflicts: SetConflicts, by: ConflictsBy) -> Json:
    """The matrix as JSON: the schemes of its rows, and the shares between them."""
    members, shares = conflicts.rows(by)
    return {
        "experiment_set": {"id": row.pk, "name": row.name},
        "pairs": len(conflicts.conflicts.pairs),
        "competing": conflicts.conflicts.competing,
        "left_out": conflicts.left_out,
        "rows": [{"schemes": [conflicts.alone_json(scheme) for scheme in schemes]} for schemes in members],
        "shares": [
            [None if math.isnan(share) else round(share, 4) for share in line] for line in shares.tolist()
        ],
    }
