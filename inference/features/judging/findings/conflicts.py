"""The conflicts in a set of experiments: read once, clustered once per question."""

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
    CONFLICT,
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

MOST = 400
"""Schemes in a matrix: more are smaller than one can see. A search looks at others."""
_SetRow = tuple[int, datetime]
"""A set's number, which another may have when it is gone, and when it was made."""
NAMED = 4
"""Schemes of a class that are named."""


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


_TIMED = np.dtype([("cycles", np.float64), ("experiment_id", np.int64)])
Timed = npt.NDArray[np.void]
"""Fields of `TimedExperiment`, for as many experiments."""


@dataclass(frozen=True, eq=False)
class SetTimes:
    """Of a set: single schemes, and 1:1 pairs of them; see `PairConflicts`, which is in the same order."""

    schemes: Sequence[str]
    alone: Timed
    pairs: Int64s
    together: Timed

    def of(self, wanted: frozenset[str]) -> SetTimes:
        """Of these schemes, and of pairs of two of them."""
        kept = np.array([scheme in wanted for scheme in self.schemes], dtype=np.bool_)
        inside = kept[self.pairs[:, 0]] & kept[self.pairs[:, 1]]
        place = np.cumsum(kept) - 1
        schemes = [scheme for scheme in self.schemes if scheme in wanted]
        return SetTimes(schemes, self.alone[kept], place[self.pairs[inside]], self.together[inside])


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
        return len(self.conflicts.paired()) - len(self.matrix.schemes)

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {scheme: place for place, scheme in enumerate(self.times.schemes)}

    def alone(self, scheme: str) -> TimedExperiment:
        """What one instance of a scheme takes. Raises `KeyError`."""
        return TimedExperiment(*self.times.alone[self._place[scheme]].item())

    def alone_json(self, scheme: str) -> Json:
        return {"scheme_id": self.ids[scheme], "scheme": scheme, **self.alone(scheme)._asdict()}

    def pair_json(self, pair: ConflictPair) -> Json:
        """Both schemes alone, and together, for programs."""
        alone = {"first": self.alone_json(pair.first), "second": self.alone_json(pair.second)}
        return {**alone, **pair.together._asdict(), "share": round(pair.share, 4)}

    def rows(self, by: ConflictsBy) -> tuple[Sequence[tuple[str, ...]], Floats]:
        """The schemes of each row, and the shares between the rows, NaN where nothing was measured."""
        if by is ConflictsBy.CLASSES:
            return self.matrix.classes, self.matrix.between_classes()
        return [(scheme,) for scheme in self.matrix.schemes], self.matrix.shares

    def pairs_between(self, first: Iterable[str], second: Iterable[str]) -> list[ConflictPair]:
        """Those of a scheme of the one and a scheme of the other, the largest share first."""
        one, other = (self._has(schemes) for schemes in (first, second))
        found = self._pairs_at(one[:, 0] & other[:, 1] | one[:, 1] & other[:, 0])
        return sorted(found, key=lambda pair: (-pair.share, pair.first, pair.second))

    def pairs_of(self, scheme: str) -> list[ConflictPair]:
        """All with a scheme, which comes first in each; the largest share first."""
        one = self._has([scheme])
        turned = [
            pair
            if pair.first == scheme
            else ConflictPair(scheme, pair.first, (pair.alone[1], pair.alone[0]), pair.together, pair.share)
            for pair in self._pairs_at(one[:, 0] | one[:, 1])
        ]
        return sorted(turned, key=lambda pair: (-pair.share, pair.second))

    def all_pairs(self) -> list[ConflictPair]:
        """In the order of the texts of their schemes."""
        return self._pairs_at(np.ones(len(self.times.pairs), dtype=np.bool_))

    def _has(self, schemes: Iterable[str]) -> Bools:
        """bool[p, 2]: where the pairs have one of these."""
        wanted = np.zeros(len(self.times.schemes), dtype=np.bool_)
        wanted[[self._place[scheme] for scheme in schemes if scheme in self._place]] = True
        return wanted[self.times.pairs]

    def _pairs_at(self, chosen: Bools) -> list[ConflictPair]:
        times = self.times
        pairs = []
        for at in np.flatnonzero(chosen).tolist():
            first, second = (times.schemes[end] for end in times.pairs[at].tolist())
            together = TimedExperiment(*times.together[at].item())
            alone = self.alone(first), self.alone(second)
            pairs.append(ConflictPair(first, second, alone, together, float(self.conflicts.shares[at])))
        return pairs


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
    if wanted is not None:
        times = times.of(wanted)
    conflicts = conflicts_of(times.schemes, times.alone["cycles"], times.pairs, times.together["cycles"])
    isa = ExperimentSet.objects.values_list("isa", flat=True).get(pk=row[0])
    matrix = conflict_matrix(conflicts, MOST)
    return SetConflicts(times, conflicts, matrix, ids_of_schemes(isa, times.schemes))


@lru_cache(maxsize=2)
def _times(row: _SetRow, measurements: int) -> SetTimes:
    del measurements  # with more of them it is another question
    parts = list(_settled(ExperimentSet.objects.select_related("isa").get(pk=row[0])))
    schemes = sorted({scheme for table, *_ in parts for scheme in table.schemes})
    place = {scheme: number for number, scheme in enumerate(schemes)}
    none = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=_TIMED), np.empty(0, dtype=np.int64)
    columns = [none, *(_plain(*part, place) for part in parts)]
    ends, timed, ids = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(ids, kind="stable")  # the database would take longer
    ends, timed = ends[order], timed[order]
    _, begin = np.unique((ends @ (len(schemes), 1))[::-1], return_index=True)
    last = len(ends) - 1 - begin  # of repeated ones; in the order of the texts
    single = ends[last, 0] == ends[last, 1]
    alone, together = last[single], last[~single]
    kept = ends[alone, 0]
    new_place = np.full(len(schemes), -1)
    new_place[kept] = np.arange(len(kept))
    together = together[(new_place[ends[together]] >= 0).all(axis=1)]
    texts = [schemes[number] for number in kept.tolist()]
    return SetTimes(texts, timed[alone], new_place[ends[together]], timed[together])


def _settled(found: ExperimentSet) -> Iterator[tuple[ExperimentTable, Timed, Int64s]]:
    """Up to two instances, with cycles and rows of experiments, and their own rows, in no order.

    Less of each than `set_chunks` reads.
    """
    texts = scheme_texts(found.isa)
    rows = found.measurements.filter(length__lte=2, state=MeasurementState.SETTLED).order_by()
    wanted = rows.values_list("experiment__key", "cycles", "experiment_id", "id").iterator(chunk_size=CHUNK)
    while part := list(islice(wanted, CHUNK)):
        keys, cycles, experiments, ids = zip(*part, strict=True)
        timed = np.array(list(zip(cycles, experiments, strict=True)), dtype=_TIMED)
        yield table_of_keys(keys, texts), timed, np.array(ids)


def _plain(
    table: ExperimentTable, timed: Timed, ids: Int64s, place: Mapping[str, int]
) -> tuple[Int64s, Timed, Int64s]:
    """The places int64[n, 2] of both schemes of experiments with two, once each; of one scheme, it twice."""
    plain = np.diff(table.offsets) == table.lengths
    places = np.array([place[scheme] for scheme in table.schemes], dtype=np.int64)[table.scheme]
    ends = places[np.column_stack((table.offsets[:-1], table.offsets[1:] - 1))[plain]]
    return np.sort(ends, axis=1), timed[plain], ids[plain]


def pairs_table(pairs: Iterable[ConflictPair]) -> PublishedTable:
    """A row for every pair; on a page, its cycles lead to the experiments."""

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


def classes_table(found: SetConflicts) -> PublishedTable:
    """The classes, each by some of its schemes, with the numbers of those that it competes with."""
    classes, shares = found.rows(ConflictsBy.CLASSES)

    def some_schemes(place: int) -> str:
        members = classes[place]
        return "; ".join(members[:NAMED]) + (f" and {len(members) - NAMED} more" if members[NAMED:] else "")

    def competitors(place: int) -> str:
        return ", ".join(
            f"{other + 1} ({100 * share:.0f} %)"
            for other, share in enumerate(shares[place].tolist())
            if other != place and share >= CONFLICT
        )

    return table_of(
        "classes",
        f"{found.conflicts.competing:,} of {len(found.conflicts.pairs):,} pairs compete",
        range(len(classes)),
        (number("class", 0), lambda place: place + 1),
        (code("schemes"), some_schemes),
        (text("competes with"), competitors),
    )


def conflicts_json(row: ExperimentSet, found: SetConflicts, by: ConflictsBy) -> Json:
    """The matrix for programs: the schemes of its rows, and the shares between them."""
    members, shares = found.rows(by)
    return {
        "experiment_set": {"id": row.pk, "name": row.name},
        "pairs": len(found.conflicts.pairs),
        "competing": found.conflicts.competing,
        "left_out": found.left_out,
        "rows": [{"schemes": [found.alone_json(scheme) for scheme in schemes]} for schemes in members],
        "shares": [
            [None if math.isnan(share) else round(share, 4) for share in line] for line in shares.tolist()
        ],
    }
