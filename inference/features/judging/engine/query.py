"""Comparisons as pages, commands and the API show them.

What sums everything up is stored. What is asked of a part of the items, or against another reference, is
worked out from the arrays, which stay in memory for the comparisons looked at last, as do the results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet

from inference.core.judging.accuracy import AccuracyJudgement, ColumnRoles, column_verdict
from inference.core.judging.agreement import Agreement, SchemeBias, agreement
from inference.core.judging.agreement import biases as biases_of
from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import EVERYTHING as ALL_ITEMS
from inference.core.judging.sheet import AnswerSheet, ComparedPoints, ItemKind, ItemSelection
from inference.core.metrics import Scores, Unit, score
from inference.core.protocols import Json
from inference.core.tables import Int64s
from inference.figures.heatmap import HeatMap, Reach, heat_map
from inference.figures.length_maps import LengthMap, length_maps
from inference.models import BasicBlock, ComparedColumn, Comparison, Measurement
from inference.models.scheme_search import texts_found
from inference.storage.answer_sheets import biases_from, read_sheet
from inference.storage.rows import StoredMeasurement, measurements_of

_IN_MEMORY = 2  # comparisons: one of 10^6 items takes 60 MB, and 8 MB for each source looked at
_POINTS = 3  # of a source, 24 MB each for 10^6 items
_WORKED_OUT = 256


@dataclass(frozen=True)
class ComparisonPart:
    """What of a comparison is looked at, in which unit; `against`: the position of the column that others are
    held against, None for the comparison's own reference.
    """

    unit: Unit = Unit.CYCLES
    selection: ItemSelection = ALL_ITEMS
    against: int | None = None

    @property
    def is_all(self) -> bool:
        """Whether all items are looked at, beside the comparison's own reference: what is stored."""
        return self.selection.is_all and self.against is None


EVERYTHING = ComparisonPart()


def comparison_rows() -> QuerySet[Comparison]:
    """All comparisons, without their arrays."""
    return Comparison.objects.select_related("run", "isa", "experiment_set", "block_set").defer(
        "points", "table"
    )


def columns_of(row: Comparison) -> list[ComparedColumn]:
    """The columns of a comparison in their order, without arrays and pictures."""
    if row.unsaved is not None:
        return list(row.unsaved.columns)
    related = ("mapping", "resource_mapping", "experiment_set", "predictor")
    found = row.columns.select_related(*related).order_by("position")
    return list(
        found.defer(
            "answers", "pictures", "mapping__report", "resource_mapping__report", "predictor__identity"
        )
    )


class Key(NamedTuple):
    """What stands for a comparison in memory: `read(*of)` gives its arrays, always the same ones."""

    read: Callable[..., AnswerSheet]
    of: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class UnsavedComparison:
    """What a comparison has that is made when it is looked at, and never saved.

    `address` is that of the page with its views, with a query; at `csv_address`, which has a query as well,
    each view is a file: "" where there is none.
    """

    key: Key
    columns: Sequence[ComparedColumn]
    address: str
    csv_address: str = ""


def key_of(row: Comparison) -> Key:
    """Of a stored one, with the time when it was made: another database may give its id again."""
    return Key(_stored_sheet, (row.pk, row.made)) if row.unsaved is None else row.unsaved.key


def _stored_sheet(pk: int, _made: Any) -> AnswerSheet:
    return read_sheet(pk)


@lru_cache(maxsize=_IN_MEMORY)
def sheet_of(key: Key) -> AnswerSheet:
    """The arrays of a comparison."""
    return key.read(*key.of)


def sheet_for(key: Key, part: ComparisonPart) -> AnswerSheet:
    """The arrays of a comparison with the reference of a part."""
    sheet = sheet_of(key)
    return sheet if part.against is None else sheet.against(part.against)


@lru_cache(maxsize=_POINTS)
def points_of(key: Key, position: int, part: ComparisonPart) -> ComparedPoints:
    """A column beside the reference of a part; a map, its scores and its bins look at the same."""
    sheet, selection = sheet_for(key, part), replace(part.selection, apart=0.0)
    among = None if selection.is_all else items_in(key, selection)
    return sheet.compare(position, part.unit, ItemSelection(apart=part.selection.apart), among)


@lru_cache(maxsize=_IN_MEMORY)
def items_in(key: Key, selection: ItemSelection) -> Int64s:
    """The items of a selection, whatever a single source says: ascending, int64[m]."""
    return np.flatnonzero(sheet_of(key).among(selection))


def schemes_found(row: Comparison, q: str) -> frozenset[int]:
    """The numbers of the schemes of the comparison's items that a search finds."""
    return frozenset() if row.isa_id is None else numbers_of(row, texts_found(row.isa_id, q))


def numbers_of(row: Comparison, texts: Collection[str]) -> frozenset[int]:
    """The numbers that these schemes have among the comparison's items."""
    return frozenset(number for number, text in enumerate(row.schemes) if text in texts)


@dataclass(frozen=True)
class ViewQuestion:
    """What a view is asked: about which column, on which part; `threshold` and `metric` say when two sources
    disagree.
    """

    row: Comparison
    columns: Sequence[ComparedColumn]
    column: ComparedColumn
    part: ComparisonPart = EVERYTHING
    threshold: float = 0.5
    metric: str = DifferenceMetric.RELATIVE.value

    @property
    def points(self) -> ComparedPoints:
        """The column beside the reference."""
        return points_of(key_of(self.row), self.column.position, self.part)

    @property
    def reference(self) -> str:
        """The name of what the column is held against."""
        if self.part.against is not None:
            return self.columns[self.part.against].name
        return self.row.reference or "measured"

    @property
    def limit(self) -> str:
        is_absolute = self.metric == DifferenceMetric.ABSOLUTE
        return f"{self.threshold:g} cycles" if is_absolute else f"{100 * self.threshold:g} % of their mean"


def selected(row: Comparison, selection: ItemSelection) -> int:
    """How many items a selection has."""
    if selection.is_all:
        return row.n
    if selection == ItemSelection(common=True):
        return row.common
    return len(items_in(key_of(row), replace(selection, apart=0.0)))


def answered_in(column: ComparedColumn, part: ComparisonPart) -> int:
    """How many of the selected items a column has a number for, however far apart the numbers are."""
    return scores_of(column, replace(part, selection=replace(part.selection, apart=0.0))).n


def scores_of(column: ComparedColumn, part: ComparisonPart) -> Scores:
    """How well a column agrees with the reference on a part."""
    for selection, stored in ((ALL_ITEMS, "scores"), (ItemSelection(common=True), "common")):
        if stored in column.summary and part.against is None and part.selection == selection:
            return Scores(**column.summary[stored][part.unit.value])
    return _scores(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_WORKED_OUT)
def _scores(key: Key, position: int, part: ComparisonPart) -> Scores:
    points = points_of(key, position, part)
    return score(points.reference, points.predicted)


def agreement_of(column: ComparedColumn, part: ComparisonPart) -> Agreement:
    """The scores of a column with medians and shares."""
    stored = column.summary.get("agreement")
    if stored is not None and part == EVERYTHING:
        return Agreement(scores_of(column, part), **stored)
    return _agreement(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_WORKED_OUT)
def _agreement(key: Key, position: int, part: ComparisonPart) -> Agreement:
    return agreement(points_of(key, position, part), sheet_of(key).items.weights)


def verdict_of(
    columns: Sequence[ComparedColumn], column: ComparedColumn, part: ComparisonPart
) -> AccuracyJudgement | None:
    """How good a column is in cycles, beside what repeating and published tools among the columns give.

    None where the part has no items: that nothing is predicted says nothing about the column.
    """
    if not selected(column.comparison, part.selection):
        return None
    stored = column.summary.get("verdict")
    if stored is not None and part.is_all:
        return AccuracyJudgement.from_json(stored)
    in_cycles = ComparisonPart(Unit.CYCLES, part.selection, part.against)
    return _verdict(key_of(column.comparison), column.position, in_cycles, _roles(columns, part.against))


def _roles(columns: Sequence[ComparedColumn], against: int | None) -> ColumnRoles:
    """Of columns; those of earlier versions, which were held against measurements alone, do not say."""
    kinds = ComparedColumn.Kind
    repeats = (column for column in columns if column.summary.get("repeats", column.kind == kinds.SET))
    tools = (column for column in columns if column.summary.get("is_published", column.kind == kinds.TOOL))
    return ColumnRoles(
        () if against is not None else tuple(column.position for column in repeats),
        tuple((column.name, column.position) for column in tools if column.position != against),
    )


@lru_cache(maxsize=_WORKED_OUT)
def _verdict(key: Key, position: int, part: ComparisonPart, roles: ColumnRoles) -> AccuracyJudgement:
    return column_verdict(sheet_for(key, part), position, roles, part.selection)


def heat_map_of(column: ComparedColumn, part: ComparisonPart) -> HeatMap:
    """A column against the reference of a part."""
    if part.is_all and column.pk is not None:
        pictures = _pictures(key_of(column.comparison), column.pk)
        return HeatMap.from_json(pictures[part.unit.value]["all"])
    return _heat_map(key_of(column.comparison), column.position, part, None)


def heat_maps_of(columns: Sequence[ComparedColumn], part: ComparisonPart) -> list[HeatMap]:
    """The maps of several columns with the same axes (thesis Figure 6.3)."""
    limit = max((axis_limit(column, part) for column in columns), default=1.0)
    return [
        heat_map_of(column, part)
        if part.is_all and axis_limit(column, part) == limit
        else _heat_map(key_of(column.comparison), column.position, part, limit)
        for column in columns
    ]


def axis_limit(column: ComparedColumn, part: ComparisonPart) -> float:
    """Where the axes of a column's own map end."""
    if part.is_all and column.pk is not None:
        return heat_map_of(column, part).limit
    return _axis_limit(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_WORKED_OUT)
def _axis_limit(key: Key, position: int, part: ComparisonPart) -> float:
    points, reach = points_of(key, position, part), Reach()
    reach.add(points.reference, points.predicted)
    return reach.limit


@lru_cache(maxsize=_WORKED_OUT)
def _heat_map(key: Key, position: int, part: ComparisonPart, limit: float | None) -> HeatMap:
    points = points_of(key, position, part)
    return heat_map(points.reference, points.predicted, limit=limit)


def length_maps_of(column: ComparedColumn, part: ComparisonPart) -> list[LengthMap]:
    """The maps of a column by the length of the items (thesis Figure 3.7)."""
    if part.is_all and column.pk is not None:
        stored = _pictures(key_of(column.comparison), column.pk)
        return [LengthMap.from_json(panel) for panel in stored[part.unit.value]["lengths"]]
    return _length_maps(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_WORKED_OUT)
def _length_maps(key: Key, position: int, part: ComparisonPart) -> list[LengthMap]:
    points = points_of(key, position, part)
    return length_maps(sheet_of(key).items.lengths[points.at], points.reference, points.predicted)


@lru_cache(maxsize=64)
def _pictures(key: Key, column: int) -> Json:
    return dict(ComparedColumn.objects.values_list("pictures", flat=True).get(pk=column))


def biases_in(column: ComparedColumn, part: ComparisonPart) -> list[SchemeBias]:
    """By which factors a column errs, scheme by scheme, on a part."""
    if part.is_all and "biases" in column.summary:
        return biases_from(column.summary["biases"])
    in_cycles = ComparisonPart(Unit.CYCLES, part.selection, part.against)
    return _biases(key_of(column.comparison), column.position, in_cycles)


@lru_cache(maxsize=_WORKED_OUT)
def _biases(key: Key, position: int, part: ComparisonPart) -> list[SchemeBias]:
    table = sheet_of(key).items.table
    return [] if table is None else biases_of(table, points_of(key, position, part))


LISTED = 50
"""Items of a bin or a scheme that are listed: those predicted worst."""


@dataclass(frozen=True)
class ItemNumbers:
    """The reference of an item and what a source says, in the unit that was asked for."""

    measured: float
    predicted: float

    @property
    def difference(self) -> float:
        """In per cent of the reference."""
        return 100 * (self.predicted - self.measured) / self.measured


@dataclass(frozen=True)
class Predicted(ItemNumbers):
    stored: StoredMeasurement

    @property
    def as_json(self) -> Json:
        return {
            "measurement_id": self.stored.id,
            "experiment_id": self.stored.experiment_id,
            "experiment": str(self.stored.value.experiment),
            "measured": self.measured,
            "predicted": self.predicted,
            "difference": self.difference,
        }


@dataclass(frozen=True)
class PredictedBlock(ItemNumbers):
    block: BasicBlock


def in_bin(
    column: ComparedColumn, part: ComparisonPart, place: tuple[int, int] | None
) -> tuple[list[Predicted | PredictedBlock], int]:
    """The worst items in the bin (row, column) of a heat map, or in all of it; how many there are."""
    points = points_of(key_of(column.comparison), column.position, part)
    if place is not None:
        rows, columns = heat_map_of(column, part).bins_of(points.reference, points.predicted)
        points = points.where((rows == place[0]) & (columns == place[1]))
    return list(items_at(column.comparison, points.worst(LISTED)).values()), len(points)


def items_at(row: Comparison, points: ComparedPoints) -> dict[int, Predicted | PredictedBlock]:
    """{place in the sheet: row} of points, in their order, without those that have been deleted."""
    ids = sheet_of(key_of(row)).items.ids[points.at].tolist()
    numbers = zip(points.at.tolist(), ids, points.reference.tolist(), points.predicted.tolist(), strict=True)
    shape: Callable[..., Predicted | PredictedBlock] = Predicted
    rows: dict[int, Any]
    if row.item_kind == ItemKind.BLOCKS:
        shape, rows = PredictedBlock, BasicBlock.objects.in_bulk(ids)
    else:
        rows = {entry.id: entry for entry in measurements_of(Measurement.objects.filter(pk__in=ids))}
    return {at: shape(x, y, rows[pk]) for at, pk, x, y in numbers if pk in rows}
