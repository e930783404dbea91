"""Queries for comparisons, used by pages, commands and the API.

Scores of all items against the comparison's own reference are stored. Those of a part of the items, or
against another reference, are computed from the arrays; the arrays of the last viewed comparisons and the
results are cached in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet

from inference.core.experiment import Unit
from inference.core.judging.accuracy import AccuracyJudgement, ColumnRoles, OtherCore, column_verdict
from inference.core.judging.agreement import Agreement, SchemeBias, agreement
from inference.core.judging.agreement import biases as biases_of
from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ALL_ITEMS, AnswerSheet, ComparedPoints, ItemKind, ItemSelection
from inference.core.metrics import Scores, score
from inference.core.protocols import Json
from inference.core.tables import Int64s
from inference.figures.heatmap import HeatMap, Reach, heat_map
from inference.figures.length_maps import LengthMap, length_maps
from inference.models import BasicBlock, ComparedColumn, Comparison, Measurement
from inference.models.scheme_search import matching_texts
from inference.storage.answer_sheets import biases_from, read_sheet
from inference.storage.evaluations import other_core
from inference.storage.rows import StoredMeasurement, measurements_of

_CACHED_SHEETS = 2  # comparisons; one of 10^6 items takes 60 MB, and 8 MB per viewed source
_CACHED_POINTS = 3  # columns; the points of one take 24 MB for 10^6 items
_CACHED_RESULTS = 256


@dataclass(frozen=True)
class ComparisonPart:
    """The part of a comparison that is viewed, and its unit.

    `against`: the position of the column that is the reference, None for the comparison's own reference.
    """

    unit: Unit = Unit.CYCLES
    selection: ItemSelection = ALL_ITEMS
    against: int | None = None

    @property
    def is_all(self) -> bool:
        """Whether it has all items and the comparison's own reference, whose scores are stored."""
        return self.selection.is_all and self.against is None


FULL_COMPARISON = ComparisonPart()


def comparison_rows() -> QuerySet[Comparison]:
    """All comparisons, with their arrays deferred."""
    related = ("run", "isa", "experiment_set__machine__isa", "block_set")
    return Comparison.objects.select_related(*related).defer("points", "table")


def columns_of(row: Comparison) -> list[ComparedColumn]:
    """The columns of a comparison by position, with arrays and pictures deferred."""
    if row.unsaved is not None:
        return list(row.unsaved.columns)
    related = ("mapping__machine__isa", "resource_mapping__machine__isa", "experiment_set", "predictor")
    rows = row.columns.select_related(*related).order_by("position")
    return list(
        rows.defer(
            "answers", "pictures", "mapping__report", "resource_mapping__report", "predictor__identity"
        )
    )


class SheetKey(NamedTuple):
    """The cache key of a comparison's arrays; `read(*args)` reads them, with the same result every time."""

    read: Callable[..., AnswerSheet]
    args: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class UnsavedComparison:
    """The additions of a comparison that is computed when it is viewed, and never saved.

    Attributes:
        address: The URL of the page with its views, with a query.
        csv_address: The URL of the views as files, with a query; "" if there are none.
    """

    key: SheetKey
    columns: Sequence[ComparedColumn]
    address: str
    csv_address: str = ""


def key_of(row: Comparison) -> SheetKey:
    """The key of a comparison; with its time of creation, since ids are reused after a restored backup."""
    return SheetKey(_stored_sheet, (row.pk, row.made)) if row.unsaved is None else row.unsaved.key


def _stored_sheet(pk: int, _created: Any) -> AnswerSheet:
    return read_sheet(pk)


@lru_cache(maxsize=_CACHED_SHEETS)
def sheet_of(key: SheetKey) -> AnswerSheet:
    """The arrays of a comparison, cached."""
    return key.read(*key.args)


def sheet_for(key: SheetKey, part: ComparisonPart) -> AnswerSheet:
    """The arrays of a comparison, with the reference of the part."""
    sheet = sheet_of(key)
    return sheet if part.against is None else sheet.against(part.against)


@lru_cache(maxsize=_CACHED_POINTS)
def points_of(key: SheetKey, position: int, part: ComparisonPart) -> ComparedPoints:
    """A column and the reference of a part; cached, since a map, its scores and its bins share the points."""
    sheet, selection = sheet_for(key, part), replace(part.selection, apart=0.0)
    among = None if selection.is_all else items_in(key, selection)
    return sheet.compare(position, part.unit, ItemSelection(apart=part.selection.apart), among)


@lru_cache(maxsize=_CACHED_SHEETS)
def items_in(key: SheetKey, selection: ItemSelection) -> Int64s:
    """The items of a selection, regardless of a single source's errors: ascending, int64[m]."""
    return np.flatnonzero(sheet_of(key).among(selection))


def matching_schemes(row: Comparison, q: str) -> frozenset[int]:
    """The numbers of the comparison's schemes that match a search. Raises `SearchError`."""
    return frozenset() if row.isa_id is None else scheme_numbers(row, matching_texts(row.isa_id, q))


def scheme_numbers(row: Comparison, texts: Collection[str]) -> frozenset[int]:
    """The numbers of these schemes in the comparison; schemes that it lacks are left out."""
    return frozenset(number for number, text in enumerate(row.schemes) if text in texts)


@dataclass(frozen=True)
class ViewQuestion:
    """The question that a view answers: a column on a part of a comparison.

    `threshold` and `metric` say when two sources disagree.
    """

    row: Comparison
    columns: Sequence[ComparedColumn]
    column: ComparedColumn
    part: ComparisonPart = FULL_COMPARISON
    threshold: float = 0.5
    metric: str = DifferenceMetric.RELATIVE.value

    @property
    def points(self) -> ComparedPoints:
        return points_of(key_of(self.row), self.column.position, self.part)

    @property
    def reference(self) -> str:
        if self.part.against is not None:
            return self.columns[self.part.against].name
        return self.row.reference or "measured"

    @property
    def limit(self) -> str:
        is_absolute = self.metric == DifferenceMetric.ABSOLUTE
        return f"{self.threshold:g} cycles" if is_absolute else f"{100 * self.threshold:g} % of their mean"


def selected_count(row: Comparison, selection: ItemSelection) -> int:
    """The number of items in a selection, regardless of a single source's errors."""
    if selection.is_all:
        return row.n
    if selection == ItemSelection(common=True):
        return row.common
    return len(items_in(key_of(row), replace(selection, apart=0.0)))


def answered_count(column: ComparedColumn, part: ComparisonPart) -> int:
    """The number of selected items with a number in the column, regardless of its errors."""
    return scores_of(column, replace(part, selection=replace(part.selection, apart=0.0))).n


def scores_of(column: ComparedColumn, part: ComparisonPart) -> Scores:
    """The scores of a column against the reference on a part; stored ones where they exist."""
    for selection, stored in ((ALL_ITEMS, "scores"), (ItemSelection(common=True), "common")):
        if stored in column.summary and part.against is None and part.selection == selection:
            return Scores(**column.summary[stored][part.unit.value])
    return _scores(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_CACHED_RESULTS)
def _scores(key: SheetKey, position: int, part: ComparisonPart) -> Scores:
    points = points_of(key, position, part)
    return score(points.reference, points.predicted)


def agreement_of(column: ComparedColumn, part: ComparisonPart) -> Agreement:
    """The scores of a column on a part, with medians and shares."""
    stored = column.summary.get("agreement")
    if stored is not None and part == FULL_COMPARISON:
        return Agreement(scores_of(column, part), **stored)
    return _agreement(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_CACHED_RESULTS)
def _agreement(key: SheetKey, position: int, part: ComparisonPart) -> Agreement:
    return agreement(points_of(key, position, part), sheet_of(key).items.weights)


def verdict_of(
    columns: Sequence[ComparedColumn], column: ComparedColumn, part: ComparisonPart
) -> AccuracyJudgement | OtherCore | None:
    """The verdict on a column in cycles, relative to repeated measurements and published tools among the
    columns.

    None if the part has no items. A mapping is not judged by measurements of another core.
    """
    if not selected_count(column.comparison, part.selection):
        return None
    mapping = column.mapping or column.resource_mapping
    if mapping is not None and not column.comparison.against and part.against is None:
        other = other_core(mapping, column.comparison.experiment_set)
        if other is not None:
            return other
    stored = column.summary.get("verdict")
    if stored is not None and part.is_all:
        return AccuracyJudgement.from_json(stored)
    in_cycles = ComparisonPart(Unit.CYCLES, part.selection, part.against)
    return _verdict(key_of(column.comparison), column.position, in_cycles, _roles(columns, part.against))


def _roles(columns: Sequence[ComparedColumn], against: int | None) -> ColumnRoles:
    """The roles of columns; those stored by earlier versions lack them, and had measurements as reference."""
    kinds = ComparedColumn.Kind
    repeats = (column for column in columns if column.summary.get("repeats", column.kind == kinds.SET))
    tools = (column for column in columns if column.summary.get("is_published", column.kind == kinds.TOOL))
    return ColumnRoles(
        () if against is not None else tuple(column.position for column in repeats),
        tuple((column.name, column.position) for column in tools if column.position != against),
    )


@lru_cache(maxsize=_CACHED_RESULTS)
def _verdict(key: SheetKey, position: int, part: ComparisonPart, roles: ColumnRoles) -> AccuracyJudgement:
    return column_verdict(sheet_for(key, part), position, roles, part.selection)


def heat_map_of(column: ComparedColumn, part: ComparisonPart) -> HeatMap:
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
    """The end of the axes of a column's own heat map, in the unit of the part."""
    if part.is_all and column.pk is not None:
        return heat_map_of(column, part).limit
    return _axis_limit(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_CACHED_RESULTS)
def _axis_limit(key: SheetKey, position: int, part: ComparisonPart) -> float:
    points, reach = points_of(key, position, part), Reach()
    reach.add(points.reference, points.predicted)
    return reach.limit


@lru_cache(maxsize=_CACHED_RESULTS)
def _heat_map(key: SheetKey, position: int, part: ComparisonPart, limit: float | None) -> HeatMap:
    points = points_of(key, position, part)
    return heat_map(points.reference, points.predicted, limit=limit)


def length_maps_of(column: ComparedColumn, part: ComparisonPart) -> list[LengthMap]:
    """The maps of a column by the length of the items (thesis Figure 3.7)."""
    if part.is_all and column.pk is not None:
        stored = _pictures(key_of(column.comparison), column.pk)
        return [LengthMap.from_json(panel) for panel in stored[part.unit.value]["lengths"]]
    return _length_maps(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_CACHED_RESULTS)
def _length_maps(key: SheetKey, position: int, part: ComparisonPart) -> list[LengthMap]:
    points = points_of(key, position, part)
    return length_maps(sheet_of(key).items.lengths[points.at], points.reference, points.predicted)


@lru_cache(maxsize=64)
def _pictures(key: SheetKey, column: int) -> Json:
    return dict(ComparedColumn.objects.values_list("pictures", flat=True).get(pk=column))


def biases_in(column: ComparedColumn, part: ComparisonPart) -> list[SchemeBias]:
    """The factors by which a column is too slow or too fast on a part, per scheme."""
    if part.is_all and "biases" in column.summary:
        return biases_from(column.summary["biases"])
    in_cycles = ComparisonPart(Unit.CYCLES, part.selection, part.against)
    return _biases(key_of(column.comparison), column.position, in_cycles)


@lru_cache(maxsize=_CACHED_RESULTS)
def _biases(key: SheetKey, position: int, part: ComparisonPart) -> list[SchemeBias]:
    table = sheet_of(key).items.table
    return [] if table is None else biases_of(table, points_of(key, position, part))


MAX_LISTED = 50
"""Items of a bin or a scheme that are listed: the worst predicted."""


@dataclass(frozen=True)
class ComparedItem:
    """The reference and the prediction of an item, in the requested unit."""

    measured: float
    predicted: float

    @property
    def difference(self) -> float:
        """Prediction minus reference, in per cent of the reference."""
        return 100 * (self.predicted - self.measured) / self.measured


@dataclass(frozen=True)
class PredictedExperiment(ComparedItem):
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
class PredictedBlock(ComparedItem):
    block: BasicBlock


def items_in_bin(
    column: ComparedColumn, part: ComparisonPart, place: tuple[int, int] | None
) -> tuple[list[PredictedExperiment | PredictedBlock], int]:
    """(worst items in the bin (row, column) of a heat map, number of its items); the whole map for None."""
    points = points_of(key_of(column.comparison), column.position, part)
    if place is not None:
        rows, columns = heat_map_of(column, part).bins_of(points.reference, points.predicted)
        points = points.where((rows == place[0]) & (columns == place[1]))
    return list(items_at(column.comparison, points.worst(MAX_LISTED)).values()), len(points)


def items_at(row: Comparison, points: ComparedPoints) -> dict[int, PredictedExperiment | PredictedBlock]:
    """{place in the sheet: item} of points, in their order, without deleted measurements and blocks."""
    ids = sheet_of(key_of(row)).items.ids[points.at].tolist()
    numbers = zip(points.at.tolist(), ids, points.reference.tolist(), points.predicted.tolist(), strict=True)
    shape: Callable[..., PredictedExperiment | PredictedBlock] = PredictedExperiment
    rows: dict[int, Any]
    if row.item_kind == ItemKind.BLOCKS:
        shape, rows = PredictedBlock, BasicBlock.objects.in_bulk(ids)
    else:
        rows = {entry.id: entry for entry in measurements_of(Measurement.objects.filter(pk__in=ids))}
    return {at: shape(x, y, rows[pk]) for at, pk, x, y in numbers if pk in rows}
