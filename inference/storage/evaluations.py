"""Evaluations as they are stored: of a mapping, on a set, and how far off it is for each scheme."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np
from django.db.models import F, QuerySet

from inference.core.metrics import Scores, Unit
from inference.core.protocols import Json
from inference.core.residuals import Residuals, SchemeError
from inference.models import (
    Evaluation,
    ExperimentSet,
    Measurement,
    PortMapping,
    ResourceMapping,
    Run,
)
from inference.storage.evaluating import compare_chunks
from inference.storage.listing import schemes_from
from inference.storage.mappings import load_model
from inference.storage.recorded import held_out_rows
from inference.storage.streaming import Chunk, set_chunks, usable_chunks


def evaluations_of(mapping: PortMapping | ResourceMapping) -> QuerySet[Evaluation]:
    """All evaluations of a mapping, the ones on held-out experiments first, without their heat maps."""
    rows = mapping.evaluations.select_related("experiment_set", "held_out_by").defer("heat_map")
    return rows.order_by(F("held_out_by").desc(nulls_last=True), "experiment_set__name", "unit")


def evaluations_on(experiment_set: ExperimentSet) -> QuerySet[Evaluation]:
    """All evaluations on a set, the most accurate mapping first, without their heat maps."""
    rows = experiment_set.evaluations.select_related("mapping", "resource_mapping").defer("heat_map")
    return rows.order_by("unit", "mape")


def evaluated_chunks(evaluation: Evaluation) -> Iterator[Chunk]:
    """The measurements of an evaluation, with the answers of tools that came with them."""
    if evaluation.experiment_set is not None:
        return set_chunks(evaluation.experiment_set, answers=True)
    assert evaluation.held_out_by is not None, "the database allows no evaluation without a source"
    return held_out_of(evaluation.held_out_by)


@lru_cache(maxsize=16)
def _errors_anew(pk: int, _computed: datetime) -> tuple[SchemeError, ...]:
    related = ("mapping", "resource_mapping", "experiment_set__isa", "held_out_by")
    evaluation = Evaluation.objects.select_related(*related).get(pk=pk)
    residuals = Residuals()
    model, unit = load_model(evaluation.predictor), Unit(evaluation.unit)
    compare_chunks(model, evaluated_chunks(evaluation), unit, residuals)
    return residuals.by_scheme


Errors = Mapping[str, SchemeError]

_Key = tuple[int, datetime]

_REMEMBERED = 128  # evaluations, of some thousand schemes each

_known: OrderedDict[_Key, Errors | None] = OrderedDict()

_lock = threading.Lock()


def residuals_in(evaluation: Evaluation) -> tuple[SchemeError, ...]:
    """One entry per scheme, the largest error first; reckoned anew where none were stored."""
    stored = stored_residuals([evaluation]).get(evaluation.pk)
    return _errors_anew(evaluation.pk, evaluation.computed) if stored is None else tuple(stored.values())


def stored_residuals(evaluations: Iterable[Evaluation]) -> dict[int, Errors]:
    """{evaluation: {scheme: error}} of the evaluations that have them stored, in at most one query.

    Only this part of the stored lists is read, and it is remembered per process: an evaluation that is made
    again has another date.
    """
    wanted = {(each.pk, each.computed): each.pk for each in evaluations}
    with _lock:
        found = {key: _known[key] for key in wanted if key in _known}
    missing = {key: pk for key, pk in wanted.items() if key not in found}
    if missing:
        rows = Evaluation.objects.filter(pk__in=missing.values())
        told = dict(rows.values_list("pk", "heat_map__listing__schemes"))
        fresh = {key: _errors(told.get(pk)) for key, pk in missing.items()}
        found |= fresh
        with _lock:
            _known.update(fresh)
            while len(_known) > _REMEMBERED:
                _known.popitem(last=False)
    return {wanted[key]: errors for key, errors in found.items() if errors is not None}


@dataclass(frozen=True)
class SchemeResidual:
    """How far a mapping is off for a scheme, and in which evaluation."""

    error: SchemeError
    evaluation: Evaluation


def residuals_of(mappings: Iterable[int], texts: Collection[str]) -> dict[tuple[int, str], SchemeResidual]:
    """By mapping and scheme: the error in the evaluation with most experiments of it, as far as stored."""
    rows = Evaluation.objects.filter(mapping__in=list(mappings), unit=Evaluation.Unit.CYCLES)
    evaluations = {row.pk: row for row in rows.select_related("experiment_set").defer("heat_map")}
    found: dict[tuple[int, str], SchemeResidual] = {}
    stored = stored_residuals(evaluations.values())
    for pk, evaluation in evaluations.items():
        for error in filter(None, map(stored.get(pk, {}).get, texts)):
            key = (evaluation.mapping_id or 0, error.scheme)
            if key not in found or error.n > found[key].error.n:
                found[key] = SchemeResidual(error, evaluation)
    return found


def _errors(told: list[list[object]] | None) -> Errors | None:
    return None if told is None else {each.scheme: each for each in schemes_from(told)}


_LOOKED_UP = 2000  # rows per query: the ids of a query are bounded


def held_out_of(run: Run) -> Iterator[Chunk]:
    """The share of its experiment sets that a run kept from training, drawn anew from its description.

    Nothing once one of the sets has been deleted: the draw from the others would name experiments that the
    run has learnt from.
    """
    config = run.config
    sets = list(ExperimentSet.objects.filter(pk__in=config["source"]["datasets"]))
    if len(sets) < len(config["source"]["datasets"]):
        return
    never = config.get("never_held_out", 0)  # runs of before held out of all experiments
    ids = held_out_rows(sets, config["schemes"], config["held_out"], config["seed"], never)
    for part in np.split(ids, range(_LOOKED_UP, len(ids), _LOOKED_UP)):
        rows = Measurement.objects.filter(pk__in=part.tolist())
        yield from usable_chunks(rows, sets[0].isa, answers=True)


def scores_of(evaluation: Evaluation) -> Json:
    """The numbers of a stored evaluation, as results and events carry them."""
    return Scores(evaluation.n, evaluation.mape, evaluation.pearson, evaluation.kendall).as_json()


def summary_of(evaluation: Evaluation) -> str:
    """What a stored evaluation found, as a line of a log."""
    judge = evaluation.experiment_set
    source = f"{evaluation.n} held-out experiments" if judge is None else f"{evaluation.n} of {judge.name}"
    mape = "undefined" if evaluation.mape is None else f"{evaluation.mape:.2f} %"
    return f"mean absolute percentage error on {source}: {mape}"
