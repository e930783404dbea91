"""Stores comparisons of predictors: arrays, and the scores, biases and heat maps that pages show.

Arrays travel as npz archives (`inference.core.checkpoint`), in the narrowest whole numbers that hold them: a
million five-scheme mixes take about 20 MB, and 8 MB for each predictor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from functools import partial
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from django.db.models import Count

from inference.core import checkpoint
from inference.core.experiment import Unit
from inference.core.judging.agreement import SchemeBias, agreement, biases
from inference.core.judging.sheet import Answers, AnswerSheet, Grouping, ItemKind, Items
from inference.core.metrics import score
from inference.core.protocols import Checkpoint, Json
from inference.core.tables import ExperimentTable
from inference.figures.heatmap import heat_map
from inference.figures.length_maps import length_maps
from inference.models import ComparedColumn, Comparison

Array = npt.NDArray[np.generic]
_INTEGER_TYPES = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64)


def sheet_fields(sheet: AnswerSheet) -> Json:
    """Fields of a `Comparison` row: its items and the reference."""
    items, table = sheet.items, sheet.items.table
    assert table is not None, "items of a comparison have schemes"
    arrays: dict[str, Array] = {
        "ids": narrowed(np.diff(items.ids, prepend=0)),
        "cycles": sheet.reference,
        "lengths": narrowed(items.lengths),
    }
    if items.experiments is not None:
        arrays["experiments"] = narrowed(np.diff(items.experiments, prepend=0))
    if items.weights is not None:
        arrays["weights"] = items.weights
    if items.bounds is not None:
        arrays["bounds"] = narrowed(items.bounds.number)
    names = () if items.bounds is None else items.bounds.names
    return {
        "schemes": list(table.schemes),
        "lengths": np.unique(items.lengths).tolist(),
        "points": _encode(arrays, {"bounds": list(names)}),
        "table": _encode(
            {
                "terms": narrowed(np.diff(table.offsets)),
                "scheme": narrowed(table.scheme),
                "count": narrowed(table.count),
            }
        ),
    }


def read_sheet(pk: int) -> AnswerSheet:
    """A stored comparison; the table of its schemes and its columns are loaded at first use."""
    rows = Comparison.objects.only("points", "item_kind").annotate(column_count=Count("columns"))
    row = rows.get(pk=pk)
    stored = checkpoint.decode(bytes(row.points))
    arrays = stored.arrays
    names = tuple(stored.meta.get("bounds", ()))
    items = Items(
        ItemKind(row.item_kind),
        np.cumsum(arrays["ids"], dtype=np.int64),
        arrays["lengths"].astype(np.int64),
        weights=arrays["weights"].astype(np.float64) if "weights" in arrays else None,
        bounds=Grouping(names, arrays["bounds"].astype(np.int64)) if "bounds" in arrays else None,
        experiments=np.cumsum(arrays["experiments"], dtype=np.int64) if "experiments" in arrays else None,
        read_table=partial(_read_table, pk),
    )
    return AnswerSheet(items, arrays["cycles"].astype(np.float64), StoredColumns(pk, row.column_count))


def _read_table(pk: int) -> ExperimentTable:
    row = Comparison.objects.only("table", "schemes").get(pk=pk)
    arrays = checkpoint.decode(bytes(row.table)).arrays
    offsets = np.concatenate(([0], np.cumsum(arrays["terms"], dtype=np.int64)))
    counts = np.concatenate(([0], np.cumsum(arrays["count"], dtype=np.int64)))
    return ExperimentTable(
        schemes=tuple(row.schemes),
        offsets=offsets,
        scheme=arrays["scheme"].astype(np.int32),
        count=arrays["count"].astype(np.int32),
        lengths=np.diff(counts[offsets]),
    )


class StoredColumns(Sequence[Answers]):
    """Columns of a stored comparison, each loaded at its first use."""

    def __init__(self, comparison: int, size: int) -> None:
        self._comparison = comparison
        self._size = size
        self._answers: dict[int, Answers] = {}

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, position: int) -> Answers: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[Answers]: ...

    def __getitem__(self, position: int | slice) -> Answers | Sequence[Answers]:
        if isinstance(position, slice):
            return [self[at] for at in range(*position.indices(self._size))]
        if not 0 <= position < self._size:
            raise IndexError(position)
        if position not in self._answers:
            columns = ComparedColumn.objects.only("answers")
            row = columns.get(comparison=self._comparison, position=position)
            self._answers[position] = read_answers(row)
        return self._answers[position]


def answers_field(answers: Answers) -> bytes:
    """The answers of a column as its database field; `read_answers` is the inverse."""
    arrays: dict[str, Array] = {"cycles": answers.cycles, "reasons": answers.reasons}
    return _encode(arrays, {"lacks": list(answers.lacks)})


def read_answers(row: ComparedColumn) -> Answers:
    """The answers of a stored column (its field `answers`)."""
    stored = checkpoint.decode(bytes(row.answers))
    return Answers(
        stored.arrays["cycles"].astype(np.float64),
        stored.arrays["reasons"].astype(np.uint8),
        tuple(stored.meta["lacks"]),
    )


def biases_json(scheme_biases: Sequence[SchemeBias]) -> list[list[float | int | None]]:
    """Biases as JSON; `biases_from` is the inverse."""
    return [list(astuple(bias)) for bias in scheme_biases]


def biases_from(rows: Sequence[Sequence[Any]]) -> list[SchemeBias]:
    return [SchemeBias(*row) for row in rows]


def narrowed(values: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """The integers in the narrowest type that holds them."""
    if not len(values):
        return values
    lowest, highest = int(values.min()), int(values.max())
    fits = (kind for kind in _INTEGER_TYPES if np.iinfo(kind).min <= lowest and highest <= np.iinfo(kind).max)
    return values.astype(next(fits))


def _encode(arrays: Mapping[str, Array], facts: Json | None = None) -> bytes:
    return checkpoint.encode(Checkpoint(facts or {}, dict(arrays)))


def column_summary(sheet: AnswerSheet, column: int) -> Json:
    """The summary of a column as JSON.

    `scores` by unit; `common`: the same on items that all columns answered; `agreement` in cycles; `lacks`:
    missing answers by reason; `biases` by scheme.
    """
    scores, on_common = {}, {}
    for unit in Unit:
        points = sheet.compare(column, unit)
        scores[unit.value] = score(points.reference, points.predicted).as_json()
        shared = sheet.common[points.at]
        common = points.where(shared)
        on_common[unit.value] = (
            scores[unit.value] if shared.all() else score(common.reference, common.predicted).as_json()
        )
    table = sheet.items.table
    agreed = asdict(agreement(sheet.compare(column), sheet.items.weights))
    return {
        "scores": scores,
        "common": on_common,
        "agreement": {name: value for name, value in agreed.items() if name != "scores"},
        "lacks": [list(reason) for reason in sheet.columns[column].lacking()],
        "biases": [] if table is None else biases_json(biases(table, sheet.compare(column))),
    }


def column_heat_maps(sheet: AnswerSheet, column: int) -> Json:
    """{unit: {"all": heat map, "lengths": heat maps by length}}."""
    pictures = {}
    for unit in Unit:
        points = sheet.compare(column, unit)
        panels = length_maps(sheet.items.lengths[points.at], points.reference, points.predicted)
        pictures[unit.value] = {
            "all": heat_map(points.reference, points.predicted).as_json(),
            "lengths": [panel.as_json() for panel in panels],
        }
    return pictures
