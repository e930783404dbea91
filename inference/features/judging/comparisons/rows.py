"""Between the rows of a comparison and its arrays, with the scores, biases and maps that pages need at once.

Arrays travel as npz archives (`inference.core.checkpoint`), in the narrowest whole numbers that hold them: a
million five-scheme mixes take about 20 MB, and 8 MB for each predictor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core import checkpoint
from inference.core.arrays import Bools, Floats
from inference.core.judging.biases import SchemeBias, biases
from inference.core.judging.compared_points import Points, compared
from inference.core.metrics import Unit, score
from inference.core.protocols import Checkpoint, Json
from inference.core.tables import ExperimentTable
from inference.figures.heatmap import heat_map
from inference.figures.length_maps import length_maps
from inference.models import ComparedColumn, Comparison

Array = npt.NDArray[np.generic]
_WHOLE = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64)


@dataclass(frozen=True, eq=False)
class ColumnCycles:
    """What one predictor said: `cycles` float64[n], NaN where it said nothing.

    `reasons` uint8[n] tells why: 0 where there is an answer, else one more than the index of the reason in
    `lacks`.
    """

    cycles: Floats
    reasons: npt.NDArray[np.uint8]
    lacks: tuple[str, ...]

    def lacking(self) -> list[tuple[str, int]]:
        """(reason, number of points), the most frequent first."""
        counts = np.bincount(self.reasons, minlength=len(self.lacks) + 1)[1:].tolist()
        found = [(reason, count) for reason, count in zip(self.lacks, counts, strict=True) if count]
        return sorted(found, key=lambda each: -each[1])


def points_fields(points: Points, table: ExperimentTable) -> Json:
    """The fields of a comparison that hold its measurements and its experiments."""
    return {
        "schemes": list(table.schemes),
        "lengths": np.unique(points.lengths).tolist(),
        "points": _packed(
            {
                "ids": narrowed(np.diff(points.ids, prepend=0)),
                "experiments": narrowed(np.diff(points.experiments, prepend=0)),
                "cycles": points.cycles,
                "lengths": narrowed(points.lengths),
            }
        ),
        "table": _packed(
            {
                "terms": narrowed(np.diff(table.offsets)),
                "scheme": narrowed(table.scheme),
                "count": narrowed(table.count),
            }
        ),
    }


def read_points(row: Comparison) -> Points:
    """The points of a comparison."""
    found = checkpoint.decode(bytes(row.points)).arrays
    return Points(
        np.cumsum(found["ids"], dtype=np.int64),
        np.cumsum(found["experiments"], dtype=np.int64),
        found["cycles"].astype(np.float64),
        found["lengths"].astype(np.int64),
    )


def read_table(row: Comparison, points: Points) -> ExperimentTable:
    """The experiments of a comparison, of which the points are at hand."""
    found = checkpoint.decode(bytes(row.table)).arrays
    return ExperimentTable(
        schemes=tuple(row.schemes),
        offsets=np.concatenate(([0], np.cumsum(found["terms"], dtype=np.int64))),
        scheme=found["scheme"].astype(np.int32),
        count=found["count"].astype(np.int32),
        lengths=points.lengths,
    )


def answers_field(answers: ColumnCycles) -> bytes:
    """The field `answers` of a column."""
    arrays: dict[str, Array] = {"cycles": answers.cycles, "reasons": answers.reasons}
    return _packed(arrays, {"lacks": list(answers.lacks)})


def read_answers(row: ComparedColumn) -> ColumnCycles:
    """The answers of a column."""
    found = checkpoint.decode(bytes(row.answers))
    return ColumnCycles(
        found.arrays["cycles"].astype(np.float64),
        found.arrays["reasons"].astype(np.uint8),
        tuple(found.meta["lacks"]),
    )


def biases_json(found: Sequence[SchemeBias]) -> list[list[float | int | None]]:
    """Plain data; `biases_from` reads it back."""
    return [list(astuple(each)) for each in found]


def biases_from(told: Sequence[Sequence[Any]]) -> list[SchemeBias]:
    """What `biases_json` gave."""
    return [SchemeBias(*each) for each in told]


def narrowed(values: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """The same whole numbers in the narrowest type that holds them."""
    if not len(values):
        return values
    least, most = int(values.min()), int(values.max())
    fits = (kind for kind in _WHOLE if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max)
    return values.astype(next(fits))


def _packed(arrays: Mapping[str, Array], facts: Json | None = None) -> bytes:
    return checkpoint.encode(Checkpoint(facts or {}, dict(arrays)))


def summarised(points: Points, table: ExperimentTable, answers: ColumnCycles, common: Bools) -> Json:
    """`scores` and, on what all columns answered, `common` by unit; `lacks` by reason; `biases` by scheme."""
    lengths = points.lengths
    scores, on_common = {}, {}
    for unit in Unit:
        found = compared(points.cycles, lengths, answers.cycles, unit)
        scores[unit.value] = score(found.measured, found.predicted).as_json()
        shared = common[found.at]
        on_common[unit.value] = (
            scores[unit.value]
            if shared.all()
            else score(found.measured[shared], found.predicted[shared]).as_json()
        )
    in_cycles = compared(points.cycles, lengths, answers.cycles, Unit.CYCLES)
    return {
        "scores": scores,
        "common": on_common,
        "lacks": [list(each) for each in answers.lacking()],
        "biases": biases_json(biases(table, in_cycles)),
    }


def pictured(points: Points, answers: ColumnCycles) -> Json:
    """{unit: {"all": heat map, "lengths": heat maps by length}}."""
    lengths = points.lengths
    pictures = {}
    for unit in Unit:
        found = compared(points.cycles, lengths, answers.cycles, unit)
        panels = length_maps(lengths[found.at], found.measured, found.predicted)
        pictures[unit.value] = {
            "all": heat_map(found.measured, found.predicted).as_json(),
            "lengths": [panel.as_json() for panel in panels],
        }
    return pictures
