"""How well a mapping predicts: the heat map on one set, the experiments in its bins, other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest

from inference.core.mapping import PortMapping as Mapping
from inference.core.metrics import Unit
from inference.exchange.stored import StoredMeasurement, load_mapping
from inference.figures.heatmap import HeatMap
from inference.models import Evaluation, ExperimentSet, PortMapping, Run
from inference.queries.evaluations import ToolScores, scores_of_tools
from inference.queries.experiment_sets import experiment_sets
from inference.queries.predictions import Predicted, Predictions, measurements_in_set, predictions
from inference.views.address import one_of
from inference.views.mappings.held_out import held_out_of

HELD_OUT = "held-out"
LISTED = 50  # experiments that the list of a bin, or of the largest errors, names
UNITS = tuple((unit.value, unit.label) for unit in Unit)


@dataclass(frozen=True)
class Source:
    """Measurements to compare with: a set, or (`experiment_set` None) what the mapping's run held out."""

    label: str
    count: int
    evaluated: bool
    experiment_set: ExperimentSet | None = None

    @property
    def key(self) -> str:
        """Its name in the address."""
        return HELD_OUT if self.experiment_set is None else str(self.experiment_set.pk)


@dataclass(frozen=True)
class Bin:
    """The experiments in one bin of the heat map, the worst first, and its bounds on both axes in words."""

    rows: list[Predicted]
    total: int
    measured: str
    predicted: str


def accuracy_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The chosen evaluation, or a button to make it."""
    del value  # what it predicts is remembered with the evaluation
    sources = _sources(row)
    chosen = _chosen(request, sources)
    unit = Unit(one_of(request, "unit", tuple(Unit), Unit.CYCLES))
    if chosen is not None and chosen.experiment_set is None:
        unit = Unit.CYCLES  # what was held out is stored in cycles alone
    context: dict[str, Any] = {
        "sources": sources,
        "chosen": chosen,
        "unit": unit.value,
        "unit_label": unit.label,
        "units": UNITS[:1] if chosen is not None and chosen.experiment_set is None else UNITS,
    }
    if chosen is None:
        return context
    evaluation = row.evaluations.filter(unit=unit.value, experiment_set=chosen.experiment_set).first()
    if evaluation is None:
        return {**context, "waiting": _evaluation_run(row, chosen, unit)}
    compared = _compared(evaluation.pk, evaluation.computed)
    found = _bin(request, evaluation, compared.predictions)
    return {
        **context,
        "evaluation": evaluation,
        "on": chosen.label,
        "heat_map": {"figure": HeatMap.from_json(evaluation.heat_map).figure(unit)},
        "bin": found,
        "worst": [] if found else _worst(compared.predictions),
        "tools": compared.tools,
    }


@dataclass(frozen=True)
class _Compared:
    """What the tab shows beside an evaluation's stored numbers."""

    predictions: Predictions
    tools: Sequence[ToolScores]


@lru_cache(maxsize=16)
def _compared(pk: int, _computed: datetime) -> _Compared:
    """Everything behind an evaluation, remembered until it is computed anew: large sets take seconds."""
    evaluation = Evaluation.objects.select_related("mapping", "experiment_set", "held_out_by").get(pk=pk)
    stored = _measured(evaluation)
    unit = Unit(evaluation.unit)
    tools = scores_of_tools([entry.value for entry in stored], unit) if evaluation.experiment_set else []
    return _Compared(predictions(load_mapping(evaluation.mapping), stored, unit), tools)


def _sources(row: PortMapping) -> list[Source]:
    evaluated = set(row.evaluations.values_list("experiment_set_id", flat=True).distinct())
    held_out = row.evaluations.filter(held_out_by__isnull=False).first()
    first = [Source("held out by its run", held_out.n, True)] if held_out else []
    sets = experiment_sets().filter(isa=row.isa).order_by("name")
    others = [Source(each.name, each.measurement_count, each.pk in evaluated, each) for each in sets]
    return [*first, *sorted(others, key=lambda source: not source.evaluated)]


def _chosen(request: HttpRequest, sources: list[Source]) -> Source | None:
    key = request.GET.get("set", "")
    if not key:
        return sources[0] if sources else None
    found = next((source for source in sources if source.key == key), None)
    if found is None:
        raise BadRequest(f"set must be {HELD_OUT} or the number of a set of this ISA, not {key[:40]!r}")
    return found


def _evaluation_run(row: PortMapping, chosen: Source, unit: Unit) -> Run | None:
    """The run that makes the missing evaluation, if one was asked for and is not over."""
    if chosen.experiment_set is None:
        return None
    asked = {"mapping": row.pk, "experiment_set": chosen.experiment_set.pk, "unit": unit.value}
    return Run.objects.filter(kind="evaluate", config=asked).exclude(state__in=Run.FINAL).first()


def _measured(evaluation: Evaluation) -> list[StoredMeasurement]:
    if evaluation.experiment_set is not None:
        return measurements_in_set(evaluation.experiment_set)
    assert evaluation.held_out_by is not None, "the database allows no evaluation without a source"
    return held_out_of(evaluation.held_out_by)


def _worst(compared: Predictions) -> list[Predicted]:
    return compared.listed(compared.worst()[:LISTED])


def _bin(request: HttpRequest, evaluation: Evaluation, compared: Predictions) -> Bin | None:
    text = request.GET.get("bin", "")
    if not text:
        return None
    heat_map = HeatMap.from_json(evaluation.heat_map)
    row, _, column = text.partition(",")
    if not all(_below(part, heat_map.bins) for part in (row, column)):
        raise BadRequest(f"bin must be two numbers below {heat_map.bins}, not {text[:40]!r}")
    found = compared.in_bin(evaluation.heat_map, int(row), int(column))
    return Bin(
        compared.listed(found[:LISTED]),
        len(found),
        measured=heat_map.bounds(int(column)),
        predicted=heat_map.bounds(int(row)),
    )


def _below(text: str, limit: int) -> bool:
    return text.isdecimal() and len(text) < 10 and int(text) < limit
