"""MAPE, Pearson's r and Kendall's τ of a mapping on a set, or on what its run held out.

Predictions are compared chunk by chunk, once, and the scores are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.experiment import Measured
from inference.core.judging.sheet import compared
from inference.core.metrics import Scores, Unit, score
from inference.core.predicting import ThroughputModel, predicted_cycles
from inference.core.residuals import Residuals, SchemeError
from inference.core.tables import ExperimentTable
from inference.figures.heatmap import HeatMap, heat_map
from inference.formats.problems import ExchangeError
from inference.models import Evaluation, ExperimentSet, PortMapping, ResourceMapping
from inference.storage.listing import schemes_json
from inference.storage.mappings import load_model
from inference.storage.names import UnknownNameError
from inference.storage.streaming import Chunk, set_chunks

Source = ExperimentSet | Sequence[Measured]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Measurements beside predictions for them, both in one unit: 24 bytes per measurement.

    `kept[i]` tells which one `measured[i]` with prediction `predicted[i]` is (int64[n], float64[n] each): the
    id of its row where a set was compared, its index in a list. `skipped` counts the others: not settled,
    without a prediction, or with one of 0 cycles where the unit is instructions per cycle.
    """

    kept: Int64s
    measured: Floats
    predicted: Floats
    skipped: int

    @cached_property
    def scores(self) -> Scores:
        """MAPE, r and τ of the predictions."""
        return score(self.measured, self.predicted)

    @cached_property
    def heat_map(self) -> HeatMap:
        return heat_map(self.measured, self.predicted)

    def worked_out(self) -> Self:
        """Itself, its scores and its heat map computed now: not in the transaction that stores them."""
        _ = self.scores, self.heat_map
        return self


def compare(model: ThroughputModel, source: Source, unit: Unit) -> Predictions:
    """Measurements beside the cycles that a throughput model says, its own bottlenecks applied.

    A set is streamed: beside what is returned, memory is needed for a chunk.
    """
    return compare_chunks(model, _chunks(source), unit)


def compare_chunks(
    model: ThroughputModel, chunks: Iterable[Chunk], unit: Unit, residuals: Residuals | None = None
) -> Predictions:
    """The same for measurements that are streamed already; `residuals` get to see it."""
    return _together(
        _beside(chunk, predicted_cycles(model, chunk.table), unit, residuals) for chunk in chunks
    )


def compare_tool(experiment_set: ExperimentSet, tool: str, unit: Unit) -> Predictions:
    """The same for the answers of a tool that came with a set; raises `UnknownNameError` without any."""
    tools: dict[str, None] = {}

    def parts() -> Iterator[Predictions]:
        for chunk in set_chunks(experiment_set, answers=True):
            tools.update(dict.fromkeys(chunk.answers))
            nothing = np.full(len(chunk.ids), np.nan)
            yield _beside(chunk, chunk.answers.get(tool, nothing), unit)

    predictions = _together(parts())
    if tool not in tools:
        raise UnknownNameError(f"tool with answers in {experiment_set.name!r}", tool, list(tools)[:3])
    return predictions


def compare_by_scheme(
    model: ThroughputModel, experiment_set: ExperimentSet, unit: Unit
) -> tuple[Predictions, tuple[SchemeError, ...]]:
    """A set as `compare` does, and how far off predictions are for each of its schemes: all worked out."""
    residuals = Residuals()
    predictions = compare_chunks(model, set_chunks(experiment_set), unit, residuals)
    return predictions.worked_out(), residuals.by_scheme


def evaluate(
    row: PortMapping | ResourceMapping, source: Source, unit: Unit | str = Unit.CYCLES
) -> Evaluation:
    """Compare what predicts with a set, or with what its run held out, and store the result.

    Raises `ExchangeError` as `store_evaluation` does.
    """
    unit = Unit(unit)
    model = load_model(row)
    if isinstance(source, ExperimentSet):
        _require_same_isa(row, source)
        return store_evaluation(row, source, unit, *compare_by_scheme(model, source, unit))
    return store_evaluation(row, None, unit, compare(model, source, unit))


def store_evaluation(
    row: PortMapping | ResourceMapping,
    source: ExperimentSet | None,
    unit: Unit,
    comparison: Predictions,
    schemes: Sequence[SchemeError] | None = None,
) -> Evaluation:
    """Store how predictions compare with a set, or (None) with what the run of a mapping held out.

    There is one evaluation per source and unit. `schemes`: errors by scheme, where they are known. Raises
    `ExchangeError` for a set of another instruction set, and for held-out measurements of what no run has
    made.
    """
    by_run = row.run if isinstance(row, PortMapping) else None
    if source is not None:
        _require_same_isa(row, source)
    elif by_run is None:
        raise ExchangeError(f"the mapping {row.name!r} was not made by a run: evaluate it on a set")
    scores = comparison.scores
    listing = {} if schemes is None else {"listing": {"schemes": schemes_json(schemes)}}
    evaluation, _ = Evaluation.objects.update_or_create(
        mapping=row if isinstance(row, PortMapping) else None,
        resource_mapping=row if isinstance(row, ResourceMapping) else None,
        unit=unit.value,
        experiment_set=source,
        held_out_by=by_run if source is None else None,
        defaults={
            "n": scores.n,
            "skipped": comparison.skipped,
            "mape": scores.mape,
            "pearson": scores.pearson,
            "kendall": scores.kendall,
            "heat_map": {**comparison.heat_map.as_json(), **listing},
        },
    )
    return evaluation


def _require_same_isa(row: PortMapping | ResourceMapping, source: ExperimentSet) -> None:
    if source.isa_id != row.isa_id:
        raise ExchangeError(
            f"the mapping {row.name!r} is for {row.isa.name}, the experiments {source.name!r} are for "
            f"{source.isa.name}: choose two of the same instruction set"
        )


def _chunks(source: Source) -> Iterable[Chunk]:
    return set_chunks(source) if isinstance(source, ExperimentSet) else [chunk_of(source)]


def chunk_of(measured: Sequence[Measured]) -> Chunk:
    """Measurements at hand as a chunk; the ids of its rows are indices into them."""
    usable = [(index, result) for index, result in enumerate(measured) if result.usable]
    tools = dict.fromkeys(tool for _, result in usable for tool in result.annotations)
    indices = np.array([index for index, _ in usable], dtype=np.int64)
    return Chunk(
        read=len(measured),
        ids=indices,
        experiments=indices,
        cycles=np.array([result.cycles for _, result in usable], dtype=np.float64),
        table=ExperimentTable.from_experiments(result.experiment for _, result in usable),
        answers={
            tool: np.array([result.annotations.get(tool, np.nan) for _, result in usable]) for tool in tools
        },
    )


def _beside(chunk: Chunk, cycles: Floats, unit: Unit, residuals: Residuals | None = None) -> Predictions:
    points = compared(chunk.cycles, chunk.table.lengths, cycles, unit)
    if residuals is not None:
        residuals.add(chunk.table, points.at, points.reference, points.predicted)
    return Predictions(chunk.ids[points.at], points.reference, points.predicted, chunk.read - len(points))


def _together(parts: Iterable[Predictions]) -> Predictions:
    nothing = Predictions(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), 0)
    found = [nothing, *parts]
    return Predictions(
        kept=np.concatenate([part.kept for part in found]),
        measured=np.concatenate([part.measured for part in found]),
        predicted=np.concatenate([part.predicted for part in found]),
        skipped=sum(part.skipped for part in found),
    )
