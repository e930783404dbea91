"""How well a stored mapping predicts measurements, computed once and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.evaluator import Evaluator
from inference.core.experiment import Measured
from inference.core.mapping import PortMapping
from inference.core.metrics import Scores, Unit, convert, score
from inference.core.tables import ExperimentTable
from inference.exchange.errors import ExchangeError
from inference.exchange.stored import load_mapping, load_measurements
from inference.figures.heatmap import heat_map
from inference.models import Evaluation, ExperimentSet
from inference.models import PortMapping as PortMappingRow

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Measurements beside predictions for them, both in one unit.

    `kept[i]` is the index, in the list that was compared, of the measurement `measured[i]` with prediction
    `predicted[i]` (float64[n] each). `skipped` counts the others: not settled, without a prediction, or with
    one of 0 cycles where the unit is instructions per cycle.
    """

    kept: npt.NDArray[np.int64]
    measured: Floats
    predicted: Floats
    skipped: int

    @property
    def scores(self) -> Scores:
        """MAPE, r and τ of the predictions."""
        return score(self.measured, self.predicted)


def compare_mapping(mapping: PortMapping, measured: Sequence[Measured], unit: Unit) -> Comparison:
    """Measurements beside the cycles that a mapping predicts, its R_max applied."""
    described = [
        index
        for index, result in enumerate(measured)
        if result.usable and all(scheme in mapping.usage for scheme in result.experiment.schemes)
    ]
    return _comparison(described, predict(mapping, [measured[index] for index in described]), measured, unit)


def compare_tool(tool: str, measured: Sequence[Measured], unit: Unit) -> Comparison:
    """Measurements beside another tool's answers, which came with them as annotations."""
    annotated = [i for i, result in enumerate(measured) if result.usable and tool in result.annotations]
    answers = np.array([measured[index].annotations[tool] for index in annotated], dtype=np.float64)
    return _comparison(annotated, answers, measured, unit)


def predict(mapping: PortMapping, measured: Sequence[Measured]) -> Floats:
    """Cycles (float64[n]) that a mapping predicts for experiments whose schemes it describes.

    The plain numpy kernels do: for one mapping they are done before the compiled ones are loaded.
    """
    table = ExperimentTable.from_experiments(result.experiment for result in measured)
    if not len(table):
        return np.zeros(0)
    return Evaluator(table, len(mapping.ports), compiled=False).cycles_one(mapping)


def _comparison(
    indices: Sequence[int], predicted: Floats, measured: Sequence[Measured], unit: Unit
) -> Comparison:
    kept = np.array(indices, dtype=np.int64)
    lengths = np.array([measured[index].experiment.length for index in indices], dtype=np.float64)
    cycles = np.array([measured[index].cycles for index in indices], dtype=np.float64)
    said = convert(predicted, lengths, unit)
    finite = np.isfinite(said)
    return Comparison(
        kept=kept[finite],
        measured=convert(cycles, lengths, unit)[finite],
        predicted=said[finite],
        skipped=len(measured) - int(finite.sum()),
    )


def evaluate(
    row: PortMappingRow, source: ExperimentSet | Sequence[Measured], unit: Unit | str = Unit.CYCLES
) -> Evaluation:
    """Compare a mapping with a set, or with what its run held out, and store the result.

    Raises `ExchangeError` as `store_evaluation` does.
    """
    unit = Unit(unit)
    if isinstance(source, ExperimentSet):
        measured: Sequence[Measured] = load_measurements(source)
        compared_with = source
    else:
        measured, compared_with = source, None
    return store_evaluation(row, compared_with, unit, compare_mapping(load_mapping(row), measured, unit))


def store_evaluation(
    row: PortMappingRow, source: ExperimentSet | None, unit: Unit, comparison: Comparison
) -> Evaluation:
    """Store how a mapping compares with a set, or (None) with what its run held out, once per unit.

    Raises `ExchangeError` for a set of another instruction set, and for held-out measurements of a mapping
    that no run has made.
    """
    if source is not None and source.isa_id != row.isa_id:
        raise ExchangeError(
            f"the mapping {row.name!r} is for {row.isa.name}, the experiments {source.name!r} are for "
            f"{source.isa.name}: choose two of the same instruction set"
        )
    if source is None and row.run is None:
        raise ExchangeError(f"the mapping {row.name!r} was not made by a run: evaluate it on a set")
    scores = comparison.scores
    evaluation, _ = Evaluation.objects.update_or_create(
        mapping=row,
        unit=unit.value,
        experiment_set=source,
        held_out_by=row.run if source is None else None,
        defaults={
            "n": scores.n,
            "skipped": comparison.skipped,
            "mape": scores.mape,
            "pearson": scores.pearson,
            "kendall": scores.kendall,
            "heat_map": heat_map(comparison.measured, comparison.predicted).as_json(),
        },
    )
    return evaluation
