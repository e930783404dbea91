"""Evaluations as pages and shell show them: of a mapping, on one set, and of tools that came with a set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
from django.db.models import F, QuerySet

from inference.core.metrics import Scores, Unit
from inference.core.predicting import Predictor
from inference.core.residuals import Residuals, SchemeError
from inference.exchange.errors import UnknownNameError
from inference.exchange.evaluating import compare_chunks, judge, score_tools
from inference.exchange.listing import LISTED, Listing, listing_of
from inference.exchange.resource_mappings import load_predictor
from inference.exchange.streaming import Chunk, usable_chunks
from inference.figures.heatmap import HeatMap
from inference.models import (
    ISA,
    Evaluation,
    ExperimentSet,
    ExperimentTerm,
    InstructionScheme,
    Measurement,
    PortMapping,
    ResourceMapping,
)
from inference.models.scheme_search import texts_found
from inference.queries.held_out import held_out_of
from inference.queries.paging import Order

_IDS = 10_000
"""Of measurements, in one statement."""


def evaluations_of(mapping: PortMapping | ResourceMapping) -> QuerySet[Evaluation]:
    """All evaluations of a mapping, the ones on held-out experiments first, without their heat maps."""
    rows = mapping.evaluations.select_related("experiment_set", "held_out_by").defer("heat_map")
    return rows.order_by(F("held_out_by").desc(nulls_last=True), "experiment_set__name", "unit")


def evaluations_on(experiment_set: ExperimentSet) -> QuerySet[Evaluation]:
    """All evaluations on a set, the most accurate mapping first, without their heat maps."""
    rows = experiment_set.evaluations.select_related("mapping", "resource_mapping").defer("heat_map")
    return rows.order_by("unit", "mape")


def listing_in(evaluation: Evaluation) -> Listing:
    """What is listed beside an evaluation's heat map.

    It is stored with the evaluation, but for those on what a run held out, for those that an inference run
    made, and those from before there were listings: for them the measurements are gone through once per
    process and computation.
    """
    stored = evaluation.heat_map.get("listing")
    if stored is not None and "schemes" in stored:
        return Listing.from_json(stored)
    return _found_again(evaluation.pk, evaluation.computed)


@lru_cache(maxsize=16)
def _found_again(pk: int, _computed: datetime) -> Listing:
    evaluation = Evaluation.objects.select_related(
        "mapping", "resource_mapping", "experiment_set", "held_out_by"
    ).get(pk=pk)
    predictor = load_predictor(evaluation.mapping or evaluation.resource_mapping)
    unit, drawn = Unit(evaluation.unit), HeatMap.from_json(evaluation.heat_map)
    if evaluation.experiment_set is not None:
        return judge(predictor, evaluation.experiment_set, unit, drawn).listing
    assert evaluation.held_out_by is not None, "the database allows no evaluation without a source"
    residuals = Residuals()
    compared = compare_chunks(predictor, held_out_of(evaluation.held_out_by), unit, residuals)
    return listing_of(compared.kept, compared.measured, compared.predicted, drawn, residuals)


def worst_with(
    evaluation: Evaluation, scheme: InstructionScheme, predictor: Predictor
) -> tuple[list[int], int]:
    """Of the measurements with a scheme: the ids of the `LISTED` predicted worst, and how many there are."""
    if evaluation.experiment_set is not None:
        chunks = _chunks_with(evaluation.experiment_set, scheme)
    else:
        assert evaluation.held_out_by is not None, "the database allows no evaluation without a source"
        chunks = held_out_of(evaluation.held_out_by, scheme)
    compared = compare_chunks(predictor, chunks, Unit(evaluation.unit))
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
