"""Evaluations as pages and shell show them: of a mapping, on one set, and of tools that came with a set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from inference.core.experiment import Experiment, Measured
from inference.core.in_common import InCommon, in_common
from inference.core.judging.accuracy import (
    AccuracyFigures,
    AccuracyJudgement,
    ToolErrors,
    judged_accuracy,
)
from inference.core.judging.agreement import Agreement
from inference.core.metrics import Scores, Unit
from inference.core.predicting import ThroughputModel
from inference.core.residuals import SchemeError
from inference.models import (
    ISA,
    Evaluation,
    ExperimentSet,
    ExperimentTerm,
    InstructionScheme,
    Measurement,
)
from inference.models.scheme_search import texts_found
from inference.storage.errors import UnknownNameError
from inference.storage.evaluating import compare, compare_chunks, score_tools
from inference.storage.evaluations import held_out_of
from inference.storage.listing import LISTED, WorstPredictions
from inference.storage.rows import StoredMeasurement, measurements_of
from inference.storage.streaming import Chunk, usable_chunks
from inference.web.paging import Order

_IDS = 10_000
"""Of measurements, in one statement."""


def judgement_of(evaluation: Evaluation, listing: WorstPredictions) -> AccuracyJudgement:
    """What the mapping is worth on these measurements, beside the best tool whose answers came with them.

    A tool counts where it predicts as many of them: then they are the same ones.
    """
    own = Agreement(Scores(evaluation.n, evaluation.mape, evaluation.pearson, evaluation.kendall))
    total = evaluation.n + evaluation.skipped
    compared = [
        ToolErrors(each.tool, each.scores.n, each.scores.mape, evaluation.mape)
        for each in listing.tools
        if each.scores.n == evaluation.n and each.scores.mape is not None and evaluation.mape is not None
    ]
    best = min(compared, key=lambda tool: tool.mape, default=None)
    figures = AccuracyFigures(own, evaluation.n / total if total else 0.0, tool=best)
    return judged_accuracy(figures, "experiments")


def worst_with(
    evaluation: Evaluation, scheme: InstructionScheme, model: ThroughputModel
) -> tuple[list[int], int]:
    """Of the measurements with a scheme: the ids of the `LISTED` predicted worst, and how many there are."""
    if evaluation.experiment_set is not None:
        chunks = _chunks_with(evaluation.experiment_set, scheme)
    else:
        assert evaluation.held_out_by is not None, "the database allows no evaluation without a source"
        chunks = held_out_of(evaluation.held_out_by, scheme)
    compared = compare_chunks(model, chunks, Unit(evaluation.unit))
    errors = np.abs(compared.predicted - compared.measured) / compared.measured
    worst = np.argsort(-errors, kind="stable")[:LISTED]
    return compared.kept[worst].tolist(), len(errors)


def _chunks_with(experiment_set: ExperimentSet, scheme: InstructionScheme) -> Iterator[Chunk]:
    """The usable measurements of a set with a scheme, in the order of their rows.

    Which these are is asked first, in no order: asked for the order as well, a database may go through the
    whole set in it.
    """
    terms = ExperimentTerm.objects.filter(scheme=scheme)
    rows = experiment_set.measurements.filter(experiment__in=terms.values("experiment")).order_by()
    ids = sorted(rows.values_list("pk", flat=True))
    for start in range(0, len(ids), _IDS):
        part = Measurement.objects.filter(pk__in=ids[start : start + _IDS])
        yield from usable_chunks(part, scheme.isa)


ERROR_ORDERS: dict[str, Callable[[SchemeError], Any]] = {
    "text": lambda error: error.scheme,
    "n": lambda error: error.n,
    "signed": lambda error: error.signed,
    "absolute": lambda error: error.absolute,
}
"""What errors by scheme can be sorted by."""


def errors_by_scheme(isa: ISA, errors: Sequence[SchemeError], q: str, order: Order) -> list[SchemeError]:
    """Those of the schemes that a search finds, sorted. Raises `SearchError`."""
    found = list(errors)
    if q:
        texts = texts_found(isa.pk, q)
        found = [each for each in errors if each.scheme in texts]
    found.sort(key=ERROR_ORDERS[order.column], reverse=order.descending)
    return found


def tool_scores(experiment_set: ExperimentSet, tool: str, unit: Unit) -> tuple[Scores, int]:
    """Scores and skipped measurements of one tool; raises `UnknownNameError` where it has no answer."""
    found = {entry.tool: entry for entry in score_tools(experiment_set, unit)}
    if tool not in found:
        raise UnknownNameError(f"tool with answers in {experiment_set.name!r}", tool, list(found)[:3])
    return found[tool].scores, found[tool].skipped


@dataclass(frozen=True)
class Predicted:
    """A stored measurement with a prediction, both numbers in the unit that was asked for."""

    stored: StoredMeasurement
    measured: float
    predicted: float

    @property
    def difference(self) -> float:
        """Prediction against measurement, in per cent of the measurement."""
        return 100 * (self.predicted - self.measured) / self.measured


def listed(model: ThroughputModel, ids: Iterable[int], unit: Unit = Unit.CYCLES) -> list[Predicted]:
    """The measurements with these row ids, in this order, predicted anew.

    Without those that have been deleted since the list was made, or have no prediction any more.
    """
    wanted = list(ids)
    found = measurements_of(Measurement.objects.filter(pk__in=wanted))
    compared = compare(model, [entry.value for entry in found], unit)
    numbers = zip(
        compared.kept.tolist(), compared.measured.tolist(), compared.predicted.tolist(), strict=True
    )
    by_id = {found[index].id: Predicted(found[index], seen, said) for index, seen, said in numbers}
    return [by_id[pk] for pk in wanted if pk in by_id]


@dataclass(frozen=True)
class BinCommon:
    """What experiments have in `common`; where that is one scheme, what it takes alone, `measured` in the
    same set (else in any) and `predicted`, in cycles.
    """

    common: InCommon
    measured: float | None
    predicted: float | None


def common_in(rows: Sequence[Predicted], evaluation: Evaluation, model: ThroughputModel) -> BinCommon | None:
    """What listed experiments have in common; None where nothing."""
    values = [row.stored.value for row in rows]
    found = in_common([(each.experiment, each.cycles) for each in values if each.cycles is not None])
    if found is None:
        return None
    if len(found.schemes) > 1:
        return BinCommon(found, None, None)
    alone = Experiment.of(found.schemes)
    answers = compare(model, [Measured(alone, 1.0)], Unit.CYCLES).predicted
    settled = Measurement.objects.filter(
        experiment__isa=evaluation.predictor.isa_id,
        experiment__length=1,
        experiment__terms__scheme__text=found.schemes[0],
        state=Measurement.State.SETTLED,
    )
    own = settled.filter(experiment_set=evaluation.experiment_set_id)
    cycles = [each for each in (own if own.exists() else settled).values_list("cycles", flat=True) if each]
    return BinCommon(found, median(cycles) if cycles else None, float(answers[0]) if len(answers) else None)
