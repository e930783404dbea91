"""Comparisons of predictors as pages, commands and the API show them.

What sums everything up is stored. What is asked of a part of the experiments is worked out from the arrays,
which stay in memory for the comparisons looked at last, and so does what was worked out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache

from django.db.models import QuerySet

from inference.core.judging.biases import SchemeBias
from inference.core.judging.biases import biases as biases_of
from inference.core.judging.sheet import AnswerSheet, ComparedPoints, ItemSelection
from inference.core.metrics import Scores, Unit, score
from inference.core.protocols import Json
from inference.features.judging.evaluations.query import Predicted
from inference.figures.heatmap import HeatMap, heat_map
from inference.figures.length_maps import LengthMap, length_maps
from inference.models import ComparedColumn, Comparison, Measurement
from inference.models.scheme_search import texts_found
from inference.storage.answer_sheets import biases_from, read_sheet
from inference.storage.rows import measurements_of

LISTED = 50
"""Experiments of a bin or a scheme that are listed: those predicted worst."""

_IN_MEMORY = 2  # comparisons: one of 10^6 points takes 60 MB, and 8 MB for each predictor looked at
_WORKED_OUT = 256


def comparison_rows() -> QuerySet[Comparison]:
    """All comparisons, without their arrays."""
    return Comparison.objects.select_related("run", "isa", "experiment_set").defer("points", "table")


def columns_of(row: Comparison) -> list[ComparedColumn]:
    """The columns of a comparison in their order, without arrays and pictures."""
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
def _compared(key: Key, position: int, unit: Unit, selection: ItemSelection) -> ComparedPoints:
    """A column beside the measurements of a selection; a map, its scores and its bins look at the same."""
    return sheet_of(key).compare(position, unit, selection)


@lru_cache(maxsize=_IN_MEMORY)
def sheet_of(key: Key) -> AnswerSheet:
    """The arrays of a comparison."""
    return read_sheet(key[0])


def schemes_found(row: Comparison, q: str) -> frozenset[int]:
    """The numbers of the schemes of the comparison's experiments that a search finds."""
    return numbers_of(row, texts_found(row.isa_id, q))


def numbers_of(row: Comparison, texts: Collection[str]) -> frozenset[int]:
    """The numbers that these schemes have among the comparison's experiments."""
    return frozenset(number for number, text in enumerate(row.schemes) if text in texts)


def selected(row: Comparison, selection: ItemSelection) -> int:
    """How many measurements a selection has."""
    if selection.everything:
        return row.n
    if selection == ItemSelection(common=True):
        return row.common
    return _selected(key_of(row), selection)


@lru_cache(maxsize=_WORKED_OUT)
def _selected(key: Key, selection: ItemSelection) -> int:
    return int(sheet_of(key).among(selection).sum())


def scores_of(column: ComparedColumn, unit: Unit, selection: ItemSelection) -> Scores:
    """How well a column agrees with the measurements of a selection."""
    for known, kept in ((ItemSelection(), "scores"), (ItemSelection(common=True), "common")):
        if selection == known:
            return Scores(**column.summary[kept][unit.value])
    return _scores(key_of(column.comparison), column.position, unit, selection)


@lru_cache(maxsize=_WORKED_OUT)
def _scores(key: Key, position: int, unit: Unit, selection: ItemSelection) -> Scores:
    found = _compared(key, position, unit, selection)
    return score(found.reference, found.predicted)


def heat_map_of(column: ComparedColumn, unit: Unit, selection: ItemSelection) -> HeatMap:
    """Predictions of a column against the measurements of a selection."""
    if selection.everything:
        return HeatMap.from_json(_pictures(key_of(column.comparison), column.position)[unit.value]["all"])
    return _heat_map(key_of(column.comparison), column.position, unit, selection, None)


def heat_maps_of(columns: Sequence[ComparedColumn], unit: Unit, selection: ItemSelection) -> list[HeatMap]:
    """The maps of several columns with the same axes (thesis Figure 6.3)."""
    own = [heat_map_of(column, unit, selection) for column in columns]
    limit = max((drawn.limit for drawn in own), default=1.0)
    return [
        drawn
        if drawn.limit == limit
        else _heat_map(key_of(column.comparison), column.position, unit, selection, limit)
        for column, drawn in zip(columns, own, strict=True)
    ]


@lru_cache(maxsize=_WORKED_OUT)
def _heat_map(key: Key, position: int, unit: Unit, selection: ItemSelection, limit: float | None) -> HeatMap:
    found = _compared(key, position, unit, selection)
    return heat_map(found.reference, found.predicted, limit=limit)


def length_maps_of(column: ComparedColumn, unit: Unit, selection: ItemSelection) -> list[LengthMap]:
    """The maps of a column by the length of the experiments (thesis Figure 3.7)."""
    if selection.everything:
        kept = _pictures(key_of(column.comparison), column.position)
        return [LengthMap.from_json(told) for told in kept[unit.value]["lengths"]]
    return _length_maps(key_of(column.comparison), column.position, unit, selection)


@lru_cache(maxsize=_WORKED_OUT)
def _length_maps(key: Key, position: int, unit: Unit, selection: ItemSelection) -> list[LengthMap]:
    there = sheet_of(key)
    found = _compared(key, position, unit, selection)
    return length_maps(there.items.lengths[found.at], found.reference, found.predicted)


@lru_cache(maxsize=64)
def _pictures(key: Key, position: int) -> Json:
    rows = ComparedColumn.objects.filter(comparison=key[0], position=position)
    return dict(rows.values_list("pictures", flat=True).get())


def biases_in(column: ComparedColumn, selection: ItemSelection) -> list[SchemeBias]:
    """By which factors a column errs, scheme by scheme, on a selection."""
    if selection.everything:
        return biases_from(column.summary["biases"])
    return _biases(key_of(column.comparison), column.position, selection)


@lru_cache(maxsize=_WORKED_OUT)
def _biases(key: Key, position: int, selection: ItemSelection) -> list[SchemeBias]:
    table = sheet_of(key).items.table
    return [] if table is None else biases_of(table, _compared(key, position, Unit.CYCLES, selection))


def in_bin(
    column: ComparedColumn, unit: Unit, selection: ItemSelection, place: tuple[int, int] | None
) -> tuple[list[Predicted], int]:
    """The experiments in the bin (row, column) of a column's heat map, or in all of it, the worst first.

    `LISTED` at most, and how many there are.
    """
    key = key_of(column.comparison)
    points = _compared(key, column.position, unit, selection)
    if place is not None:
        rows, columns = heat_map_of(column, unit, selection).bins_of(points.reference, points.predicted)
        points = points.where((rows == place[0]) & (columns == place[1]))
    worst = points.worst(LISTED)
    ids = sheet_of(key).items.ids[worst.at].tolist()
    stored = {one.id: one for one in measurements_of(Measurement.objects.filter(pk__in=ids))}
    numbers = zip(ids, worst.reference.tolist(), worst.predicted.tolist(), strict=True)
    return [Predicted(stored[pk], seen, said) for pk, seen, said in numbers if pk in stored], len(points)
