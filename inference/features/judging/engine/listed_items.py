"""Items of a comparison with what a source says of them: the worst of all or of a bin of its heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from inference.core.experiment import Experiment
from inference.core.in_common import InCommon, in_common
from inference.core.judging.sheet import ComparedPoints, ItemKind
from inference.core.predicting import predicted_cycles
from inference.core.tables import ExperimentTable
from inference.features.judging.engine.query import (
    ComparisonPart,
    heat_map_of,
    key_of,
    points_of,
    sheet_of,
)
from inference.isa.blocks import intel_or_digits
from inference.models import BasicBlock, ComparedColumn, Comparison, Measurement
from inference.storage.instruction_sets import code_isa
from inference.storage.mappings import load_model
from inference.storage.rows import StoredMeasurement, measurements_of

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


@dataclass(frozen=True)
class PredictedBlock(ItemNumbers):
    block: BasicBlock


@dataclass(frozen=True)
class BinCommon:
    """What experiments have in `common`; where that is one scheme, what it takes alone, `measured` in the
    same set (else in any) and `predicted`, in cycles.
    """

    common: InCommon
    measured: float | None = None
    predicted: float | None = None


def in_bin(
    column: ComparedColumn, part: ComparisonPart, place: tuple[int, int] | None
) -> tuple[list[Predicted | PredictedBlock], int]:
    """The items in the bin (row, column) of a column's heat map, or in all of it, the worst first.

    `LISTED` at most, and how many there are.
    """
    points = points_of(key_of(column.comparison), column.position, part)
    if place is not None:
        rows, columns = heat_map_of(column, part).bins_of(points.reference, points.predicted)
        points = points.where((rows == place[0]) & (columns == place[1]))
    return list(items_at(column.comparison, points.worst(LISTED)).values()), len(points)


def items_at(row: Comparison, points: ComparedPoints) -> dict[int, Predicted | PredictedBlock]:
    """{place in the sheet: row} of points, in their order, without those that have been deleted."""
    ids = sheet_of(key_of(row)).items.ids[points.at].tolist()
    cycles = (points.reference.tolist(), points.predicted.tolist())
    numbers = list(zip(points.at.tolist(), ids, *cycles, strict=True))
    if row.item_kind == ItemKind.BLOCKS:
        blocks = BasicBlock.objects.in_bulk(ids)
        return {
            at: PredictedBlock(reference, predicted, blocks[pk])
            for at, pk, reference, predicted in numbers
            if pk in blocks
        }
    stored = {entry.id: entry for entry in measurements_of(Measurement.objects.filter(pk__in=ids))}
    return {
        at: Predicted(reference, predicted, stored[pk])
        for at, pk, reference, predicted in numbers
        if pk in stored
    }


def item_text(row: Comparison, item: Predicted | PredictedBlock) -> str:
    """An experiment as files have it, or the assembly of a block."""
    if isinstance(item, PredictedBlock):
        return "; ".join(intel_or_digits(bytes(item.block.code), code_isa(row.isa)))
    return str(item.stored.value.experiment)


def common_in(column: ComparedColumn, rows: Sequence[Predicted | PredictedBlock]) -> BinCommon | None:
    """What listed experiments have in common; None where nothing."""
    values = [row.stored.value for row in rows if isinstance(row, Predicted)]
    common = in_common([(value.experiment, value.cycles) for value in values if value.cycles is not None])
    if common is None or len(common.schemes) > 1:
        return None if common is None else BinCommon(common)
    comparison = column.comparison
    settled = Measurement.objects.filter(
        experiment__isa=comparison.isa_id,
        experiment__length=1,
        experiment__terms__scheme__text=common.schemes[0],
        state=Measurement.State.SETTLED,
    )
    own = settled.filter(experiment_set=comparison.experiment_set_id)
    cycles = [value for value in (own if own.exists() else settled).values_list("cycles", flat=True) if value]
    mapping = column.mapping or column.resource_mapping
    predicted = np.full(1, np.nan)
    if mapping is not None:
        alone = ExperimentTable.from_experiments([Experiment.of(common.schemes)])
        predicted = predicted_cycles(load_model(mapping), alone)
    return BinCommon(
        common, median(cycles) if cycles else None, None if np.isnan(predicted[0]) else float(predicted[0])
    )
