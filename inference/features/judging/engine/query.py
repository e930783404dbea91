"""Comparisons as pages, commands and the API show them.

What sums everything up is stored. What is asked of a part of the items, or against another reference, is
worked out from the arrays, which stay in memory for the comparisons looked at last, as do the results.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

import numpy as np
from django.db.models import QuerySet

from inference.core.judging.accuracy import AccuracyJudgement
from inference.core.judging.agreement import Agreement, agreement
from inference.core.judging.biases import SchemeBias
from inference.core.judging.biases import biases as biases_of
from inference.core.judging.sheet import EVERYTHING as ALL_ITEMS
from inference.core.judging.sheet import AnswerSheet, ComparedPoints, ItemSelection
from inference.core.metrics import Scores, Unit, score
from inference.core.protocols import Json
from inference.core.tables import Int64s
from inference.features.judging.engine.column_verdicts import ColumnRoles, column_verdict
from inference.features.judging.engine.evaluation_sheets import evaluation_columns, evaluation_sheet
from inference.figures.heatmap import HeatMap, Reach, heat_map
from inference.figures.length_maps import LengthMap, length_maps
from inference.models import ComparedColumn, Comparison
from inference.models.scheme_search import texts_found
from inference.storage.answer_sheets import biases_from, read_sheet

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
    if row.pk < 0:
        return evaluation_columns(row)
    related = ("mapping", "resource_mapping", "experiment_set", "predictor")
    found = row.columns.select_related(*related).order_by("position")
    return list(
        found.defer(
            "answers", "pictures", "mapping__report", "resource_mapping__report", "predictor__identity"
        )
    )


Key = tuple[int, datetime]
"""Which comparison, and when it was made: it never changes, but another database may give its id again."""


def key_of(row: Comparison) -> Key:
    """What stands for a comparison in memory."""
    return row.pk, row.made


@lru_cache(maxsize=_IN_MEMORY)
def sheet_of(key: Key) -> AnswerSheet:
    """The arrays of a comparison."""
    return read_sheet(key[0]) if key[0] > 0 else evaluation_sheet(-key[0], key[1]).sheet


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
        pictures = _pictures(key_of(column.comparison), column.position)
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
        stored = _pictures(key_of(column.comparison), column.position)
        return [LengthMap.from_json(panel) for panel in stored[part.unit.value]["lengths"]]
    return _length_maps(key_of(column.comparison), column.position, part)


@lru_cache(maxsize=_WORKED_OUT)
def _length_maps(key: Key, position: int, part: ComparisonPart) -> list[LengthMap]:
    points = points_of(key, position, part)
    return length_maps(sheet_of(key).items.lengths[points.at], points.reference, points.predicted)


@lru_cache(maxsize=64)
def _pictures(key: Key, position: int) -> Json:
    rows = ComparedColumn.objects.filter(comparison=key[0], position=position)
    return dict(rows.values_list("pictures", flat=True).get())


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
