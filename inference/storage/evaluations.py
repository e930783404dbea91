"""Evaluations of mappings on experiment sets or held-out experiments: computing, storing and loading them.

Predictions are computed once, chunk by chunk. Stored are MAPE, Pearson's r, Kendall's τ, a heat map, and the
error of each scheme.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from django.db.models import F, QuerySet

from inference.core.evaluator import ThroughputModel, predicted_cycles
from inference.core.experiment import Measured, Unit
from inference.core.judging.accuracy import AccuracyJudgement, OtherCore, scores_judgement
from inference.core.judging.sheet import compared
from inference.core.metrics import Residuals, SchemeError, Scores, score
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable, Floats, Int64s
from inference.figures.heatmap import HeatMap, heat_map
from inference.formats.problems import ExchangeError
from inference.models import Evaluation, ExperimentSet, Measurement, PortMapping, ResourceMapping, Run
from inference.storage.errors import UnknownNameError
from inference.storage.instruction_sets import core_name
from inference.storage.listing import schemes_from, schemes_json
from inference.storage.mappings import load_model
from inference.storage.recorded import held_out_rows
from inference.storage.streaming import Chunk, set_chunks, usable_chunks

Source = ExperimentSet | Sequence[Measured]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Measurements and their predictions in one unit: 24 bytes per measurement.

    `ids` int64[n]: ids of the rows of a set, or indices into a list; `measured`, `predicted` float64[n].
    `skipped`: number of measurements that are not settled, have no prediction, or one of 0 cycles where the
    unit is instructions per cycle.
    """

    ids: Int64s
    measured: Floats
    predicted: Floats
    skipped: int

    @cached_property
    def scores(self) -> Scores:
        return score(self.measured, self.predicted)

    @cached_property
    def heat_map(self) -> HeatMap:
        return heat_map(self.measured, self.predicted)

    def with_cached_properties(self) -> Self:
        """Itself, with scores and heat map computed now, to keep that out of the storing transaction."""
        _ = self.scores, self.heat_map
        return self


def compare(model: ThroughputModel, source: Source, unit: Unit) -> Predictions:
    """Compare measurements with a throughput model's predictions, its own bottlenecks applied.

    A set is streamed: besides the result, memory for one chunk is needed.

    Args:
        model: A port mapping, a resource mapping, or a tool.
        source: An experiment set, or measurements.
        unit: Unit in which both are compared.
    """
    return compare_chunks(model, _chunks(source), unit)


def compare_chunks(
    model: ThroughputModel, chunks: Iterable[Chunk], unit: Unit, residuals: Residuals | None = None
) -> Predictions:
    """Like `compare`, for chunks of measurements.

    Args:
        model: Predicts.
        chunks: Each is read once.
        unit: Unit in which both are compared.
        residuals: Gets the errors by scheme, if given.
    """
    return _concatenate(
        _chunk_predictions(chunk, predicted_cycles(model, chunk.table), unit, residuals) for chunk in chunks
    )


def compare_tool(experiment_set: ExperimentSet, tool: str, unit: Unit) -> Predictions:
    """Like `compare`, for the answers of a tool that a set has.

    Args:
        experiment_set: Experiment set with answers.
        tool: Its name in the set.
        unit: Unit in which both are compared.

    Raises:
        UnknownNameError: The set has no answers of this tool.
    """
    tools: dict[str, None] = {}

    def parts() -> Iterator[Predictions]:
        for chunk in set_chunks(experiment_set, answers=True):
            tools.update(dict.fromkeys(chunk.answers))
            nothing = np.full(len(chunk.ids), np.nan)
            yield _chunk_predictions(chunk, chunk.answers.get(tool, nothing), unit)

    predictions = _concatenate(parts())
    if tool not in tools:
        raise UnknownNameError(f"tool with answers in {experiment_set.name!r}", tool, list(tools)[:3])
    return predictions


def _chunks(source: Source) -> Iterable[Chunk]:
    return set_chunks(source) if isinstance(source, ExperimentSet) else [chunk_of(source)]


def chunk_of(measured: Sequence[Measured]) -> Chunk:
    """A list of measurements as a chunk, whose ids are indices into the list."""
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


def _chunk_predictions(
    chunk: Chunk, cycles: Floats, unit: Unit, residuals: Residuals | None = None
) -> Predictions:
    points = compared(chunk.cycles, chunk.table.lengths, cycles, unit)
    if residuals is not None:
        residuals.add(chunk.table, points.at, points.reference, points.predicted)
    return Predictions(chunk.ids[points.at], points.reference, points.predicted, chunk.read - len(points))


def _concatenate(parts: Iterable[Predictions]) -> Predictions:
    nothing = Predictions(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), 0)
    predictions = [nothing, *parts]
    return Predictions(
        ids=np.concatenate([part.ids for part in predictions]),
        measured=np.concatenate([part.measured for part in predictions]),
        predicted=np.concatenate([part.predicted for part in predictions]),
        skipped=sum(part.skipped for part in predictions),
    )


def evaluate(
    row: PortMapping | ResourceMapping, source: Source, unit: Unit | str = Unit.CYCLES
) -> Evaluation:
    """Evaluate a mapping, and store the result.

    Args:
        row: A port mapping or a resource mapping.
        source: An experiment set, or the held-out experiments of the mapping's run.
        unit: Unit in which both are compared.

    Raises:
        ExchangeError: Like `store_evaluation`.
    """
    unit = Unit(unit)
    model = load_model(row)
    if isinstance(source, ExperimentSet):
        _require_same_isa(row, source)
        residuals = Residuals()
        predictions = compare_chunks(model, set_chunks(source), unit, residuals)
        return store_evaluation(row, source, unit, predictions, residuals.by_scheme)
    return store_evaluation(row, None, unit, compare(model, source, unit))


def store_evaluation(
    row: PortMapping | ResourceMapping,
    source: ExperimentSet | None,
    unit: Unit,
    comparison: Predictions,
    schemes: Sequence[SchemeError] | None = None,
) -> Evaluation:
    """Store an evaluation; it replaces the one with the same source and unit.

    Args:
        row: The mapping.
        source: The set, or None for the held-out experiments of the mapping's run.
        unit: Unit of the comparison.
        comparison: Measurements and predictions.
        schemes: Errors by scheme, where computed.

    Raises:
        ExchangeError: The set is of another instruction set, or no run made the mapping.
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


def evaluations_of(mapping: PortMapping | ResourceMapping) -> QuerySet[Evaluation]:
    """Evaluations of a mapping without heat maps, those on held-out experiments first."""
    rows = mapping.evaluations.select_related("experiment_set__machine__isa", "held_out_by")
    rows = rows.defer("heat_map")
    return rows.order_by(F("held_out_by").desc(nulls_last=True), "experiment_set__name", "unit")


def evaluations_on(experiment_set: ExperimentSet) -> QuerySet[Evaluation]:
    """Evaluations on a set without heat maps, the most accurate mapping first."""
    related = ("mapping__machine__isa", "resource_mapping__machine__isa", "experiment_set__machine__isa")
    rows = experiment_set.evaluations.select_related(*related).defer("heat_map")
    return rows.order_by("unit", "mape")


def other_core(row: PortMapping | ResourceMapping, measured: ExperimentSet | None) -> OtherCore | None:
    """The cores of a mapping and of a set that is measured on another one; None where they may be the same.

    `measured`: None for experiments that the mapping's own run held out.
    """
    if measured is None:
        return None
    predicted, there = core_name(row), core_name(measured)
    return OtherCore(there, predicted) if predicted and there and predicted != there else None


def judgement_of(
    evaluation: Evaluation, row: PortMapping | ResourceMapping | None = None
) -> AccuracyJudgement | OtherCore:
    """How good a mapping is by an evaluation; `row`: the evaluated mapping, where it is loaded already.

    Lists select `mapping__machine__isa` and `experiment_set__machine__isa`, so that this makes no query.
    """
    row = row or evaluation.predictor
    dataset = evaluation.experiment_set
    other = other_core(row, dataset)
    if other is not None:
        return other
    scores = Scores(evaluation.n, evaluation.mape, evaluation.pearson, evaluation.kendall)
    read = evaluation.n + evaluation.skipped
    is_known = dataset is None or core_name(dataset)
    doubt = "" if is_known else "on which CPU it was measured is not recorded: it may be another one"
    return scores_judgement(scores, "experiments", evaluation.n / read if read else 0.0, doubt)


def evaluated_chunks(evaluation: Evaluation) -> Iterator[Chunk]:
    """The measurements of an evaluation, with the answers of other tools."""
    if evaluation.experiment_set is not None:
        return set_chunks(evaluation.experiment_set, answers=True)
    assert evaluation.held_out_by is not None, "the database allows no evaluation without a source"
    return held_out_of(evaluation.held_out_by)


@lru_cache(maxsize=16)
def _recomputed_errors(pk: int, _computed: datetime) -> tuple[SchemeError, ...]:
    related = ("mapping", "resource_mapping", "experiment_set__isa", "held_out_by")
    evaluation = Evaluation.objects.select_related(*related).get(pk=pk)
    residuals = Residuals()
    model, unit = load_model(evaluation.predictor), Unit(evaluation.unit)
    compare_chunks(model, evaluated_chunks(evaluation), unit, residuals)
    return residuals.by_scheme


Errors = Mapping[str, SchemeError]
_Key = tuple[int, datetime]
_CACHE_SIZE = 128  # evaluations, of some thousand schemes each
_errors_cache: OrderedDict[_Key, Errors | None] = OrderedDict()
_lock = threading.Lock()


def residuals_in(evaluation: Evaluation) -> tuple[SchemeError, ...]:
    """Errors by scheme, the largest first; computed again where none are stored."""
    stored = stored_residuals([evaluation]).get(evaluation.pk)
    return (
        _recomputed_errors(evaluation.pk, evaluation.computed) if stored is None else tuple(stored.values())
    )


def stored_residuals(evaluations: Iterable[Evaluation]) -> dict[int, Errors]:
    """{id of the evaluation: {scheme: error}}, of those that have errors stored (at most one query).

    Cached per process by id and date: an evaluation that is computed again has another date.
    """
    keys = {(evaluation.pk, evaluation.computed): evaluation.pk for evaluation in evaluations}
    with _lock:
        errors_by_key = {key: _errors_cache[key] for key in keys if key in _errors_cache}
    missing = {key: pk for key, pk in keys.items() if key not in errors_by_key}
    if missing:
        rows = Evaluation.objects.filter(pk__in=missing.values())
        listings = dict(rows.values_list("pk", "heat_map__listing__schemes"))
        fresh = {key: _errors(listings.get(pk)) for key, pk in missing.items()}
        errors_by_key |= fresh
        with _lock:
            _errors_cache.update(fresh)
            while len(_errors_cache) > _CACHE_SIZE:
                _errors_cache.popitem(last=False)
    return {keys[key]: errors for key, errors in errors_by_key.items() if errors is not None}


@dataclass(frozen=True)
class SchemeResidual:
    error: SchemeError
    evaluation: Evaluation


def residuals_of(mappings: Iterable[int], texts: Collection[str]) -> dict[tuple[int, str], SchemeResidual]:
    """{(mapping, scheme): error in the evaluation with most experiments of the scheme}, as far as stored."""
    rows = Evaluation.objects.filter(mapping__in=list(mappings), unit=Evaluation.Unit.CYCLES)
    evaluations = {row.pk: row for row in rows.select_related("experiment_set").defer("heat_map")}
    residuals: dict[tuple[int, str], SchemeResidual] = {}
    stored = stored_residuals(evaluations.values())
    for pk, evaluation in evaluations.items():
        for error in filter(None, map(stored.get(pk, {}).get, texts)):
            key = (evaluation.mapping_id or 0, error.scheme)
            if key not in residuals or error.n > residuals[key].error.n:
                residuals[key] = SchemeResidual(error, evaluation)
    return residuals


def _errors(rows: list[list[object]] | None) -> Errors | None:
    return None if rows is None else {error.scheme: error for error in schemes_from(rows)}


_IDS_PER_QUERY = 2000  # rows per query: the ids of a query are bounded


def held_out_of(run: Run) -> Iterator[Chunk]:
    """The held-out measurements of a run, selected again from its config and seed.

    Empty once one of its sets has been deleted: a selection from the others would contain training
    experiments.
    """
    config = run.config
    sets = list(ExperimentSet.objects.filter(pk__in=config["source"]["datasets"]))
    if len(sets) < len(config["source"]["datasets"]):
        return
    never_held_out = config.get("never_held_out", 0)  # runs of before held out of all experiments
    ids = held_out_rows(sets, config["schemes"], config["held_out"], config["seed"], never_held_out)
    for part in np.split(ids, range(_IDS_PER_QUERY, len(ids), _IDS_PER_QUERY)):
        rows = Measurement.objects.filter(pk__in=part.tolist())
        yield from usable_chunks(rows, sets[0].isa, answers=True)


def scores_of(evaluation: Evaluation) -> Json:
    """The numbers of a stored evaluation, as results and events carry them."""
    return Scores(evaluation.n, evaluation.mape, evaluation.pearson, evaluation.kendall).as_json()


def summary_of(evaluation: Evaluation) -> str:
    judge = evaluation.experiment_set
    source = f"{evaluation.n} held-out experiments" if judge is None else f"{evaluation.n} of {judge.name}"
    mape = "undefined" if evaluation.mape is None else f"{evaluation.mape:.2f} %"
    return f"mean absolute percentage error on {source}: {mape}"
