"""How well a mapping predicts: the heat map on one set, the experiments in its bins, errors by length and by
scheme, other tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.core.metrics import Unit
from inference.core.predicting import ThroughputModel
from inference.core.residuals import SchemeError
from inference.features.judging.evaluations.query import (
    ERROR_ORDERS,
    BinCommon,
    Predicted,
    common_in,
    errors_by_scheme,
    judgement_of,
    listed,
    worst_with,
)
from inference.figures.error_by_length import length_figure
from inference.figures.heatmap import HeatMap
from inference.isa.search import SearchError
from inference.models import (
    ISA,
    Evaluation,
    ExperimentSet,
    InstructionScheme,
    PortMapping,
    ResourceMapping,
    Run,
)
from inference.storage.evaluations import evaluations_on, listing_in
from inference.storage.listing import WorstPredictions
from inference.storage.rows import ids_of_schemes
from inference.web.listed_mappings import evaluation_url
from inference.web.menus import MenuPlace, entries_of
from inference.web.paging import Order, page_in_memory
from inference.web.requests import chosen_bin, one_of, row_number, whole_number
from inference.web.run_forms import start_or_tell

HELD_OUT = "held-out"
UNITS = tuple((unit.value, unit.label) for unit in Unit)


@dataclass(frozen=True)
class MeasurementsChoice:
    """Measurements to compare with: a set, or (`experiment_set` None) what the mapping's run held out."""

    label: str
    evaluated: bool
    experiment_set: ExperimentSet | None = None

    @property
    def key(self) -> str:
        """Its name in the address."""
        return HELD_OUT if self.experiment_set is None else str(self.experiment_set.pk)

    @property
    def count(self) -> int:
        """How many measurements a set has."""
        return 0 if self.experiment_set is None else self.experiment_set.measurements.count()


@dataclass(frozen=True)
class ExperimentBin:
    """The experiments in one bin of the heat map, the worst first, and its bounds on both axes in words.

    `common`: what those that are listed have in common.
    """

    rows: list[Predicted]
    total: int
    measured: str
    predicted: str
    common: BinCommon | None


def accuracy_tab(
    request: HttpRequest, row: PortMapping | ResourceMapping, model: ThroughputModel
) -> dict[str, Any]:
    """The chosen evaluation of what predicts, beside others on the same set; or a button to make it."""
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
        "evaluate_url": evaluation_address(row),
        "pins": isinstance(row, PortMapping),
        "set_offers": entries_of(MenuPlace.SET),
        "predictor_field": predictor_field(row),
        "units": UNITS[:1] if chosen is not None and chosen.experiment_set is None else UNITS,
    }
    if chosen is None:
        return context
    evaluation = row.evaluations.filter(unit=unit.value, experiment_set=chosen.experiment_set).first()
    if evaluation is None:
        return {**context, "waiting": _evaluation_run(row, chosen, unit)}
    listing = listing_in(evaluation)
    of_scheme = scheme_experiments(request, evaluation, model)
    found = None if of_scheme else _bin(request, evaluation, listing, model)
    lengths = listing.lengths or ()
    return {
        **context,
        "evaluation": evaluation,
        "judgement": judgement_of(evaluation, listing),
        "on": chosen.label,
        "heat_map": {"figure": HeatMap.from_json(evaluation.heat_map).figure(unit)},
        "bin": found,
        "of_scheme": of_scheme,
        "worst": [] if found or of_scheme else listed(model, listing.worst, unit),
        "lengths": lengths if len(lengths) > 1 else (),
        "lengths_figure": length_figure(lengths),
        **schemes_context(request, row.isa, listing.schemes or ()),
        "tools": listing.tools,
        "others": _others(evaluation),
    }


def _others(evaluation: Evaluation) -> list[tuple[Evaluation, str]]:
    """The evaluations of other mappings on the same set in the same unit, with the address of each."""
    if evaluation.experiment_set is None:
        return []
    rows = evaluations_on(evaluation.experiment_set).filter(unit=evaluation.unit).exclude(pk=evaluation.pk)
    return [(other, evaluation_url(other)) for other in rows]


def _sources(row: PortMapping | ResourceMapping) -> list[MeasurementsChoice]:
    evaluated = set(row.evaluations.values_list("experiment_set_id", flat=True).distinct())
    held_out = row.evaluations.filter(held_out_by__isnull=False).exists()
    first = [MeasurementsChoice("held out by its run", True)] if held_out else []
    sets = ExperimentSet.objects.filter(isa=row.isa).order_by("name")
    others = [MeasurementsChoice(each.name, each.pk in evaluated, each) for each in sets]
    return [*first, *sorted(others, key=lambda source: not source.evaluated)]


def _chosen(request: HttpRequest, sources: list[MeasurementsChoice]) -> MeasurementsChoice | None:
    key = request.GET.get("set", "")
    if not key:
        return sources[0] if sources else None
    found = next((source for source in sources if source.key == key), None)
    if found is None:
        raise BadRequest(f"set must be {HELD_OUT} or the number of a set of this ISA, not {key[:40]!r}")
    return found


def _evaluation_run(row: PortMapping | ResourceMapping, chosen: MeasurementsChoice, unit: Unit) -> Run | None:
    """The run that makes the missing evaluation, if one was asked for and is not over."""
    if chosen.experiment_set is None:
        return None
    asked = {predictor_field(row): row.pk, "experiment_set": chosen.experiment_set.pk, "unit": unit.value}
    return Run.objects.filter(kind="evaluate", config=asked).exclude(state__in=Run.FINAL).first()


def _bin(
    request: HttpRequest, evaluation: Evaluation, listing: WorstPredictions, model: ThroughputModel
) -> ExperimentBin | None:
    heat_map = HeatMap.from_json(evaluation.heat_map)
    place = chosen_bin(request, heat_map.bins)
    if place is None:
        return None
    rows = listed(model, listing.bins.get(place, ()), Unit(evaluation.unit))
    return ExperimentBin(
        rows,
        heat_map.counts[place[0]][place[1]],
        common=common_in(rows, evaluation, model),
        measured=heat_map.bounds(place[1]),
        predicted=heat_map.bounds(place[0]),
    )


PAGE = 25


@dataclass(frozen=True)
class ResidualRow:
    """A scheme with its row id, None for one that the instruction set has lost since."""

    pk: int | None
    error: SchemeError


@dataclass(frozen=True)
class OfScheme:
    """The experiments with one scheme that are predicted worst, and how many there are."""

    scheme: InstructionScheme
    rows: list[Predicted]
    total: int


def schemes_context(request: HttpRequest, isa: ISA, errors: Sequence[SchemeError]) -> dict[str, Any]:
    """A page of the schemes, the largest mean absolute error first unless the address says otherwise."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), {key: key for key in ERROR_ORDERS}, "-absolute")
    context: dict[str, Any] = {"q": q, "sort": str(order), "scheme_count": len(errors)}
    try:
        found = errors_by_scheme(isa, errors, q, order)
    except SearchError as error:
        return {**context, "schemes_error": str(error)}
    page = page_in_memory(found, whole_number(request, "page", 0) or 0, PAGE)
    ids = ids_of_schemes(isa.pk, (each.scheme for each in page.rows))
    return {**context, "page": page, "schemes": [ResidualRow(ids.get(row.scheme), row) for row in page.rows]}


def scheme_experiments(
    request: HttpRequest, evaluation: Evaluation, model: ThroughputModel
) -> OfScheme | None:
    """The experiments with the scheme that the address names, the worst predicted first."""
    pk = whole_number(request, "scheme")
    if pk is None:
        return None
    scheme = get_object_or_404(InstructionScheme, pk=pk, isa=evaluation.predictor.isa_id)
    unit = Unit(evaluation.unit)
    ids, total = worst_with(evaluation, scheme, model)
    return OfScheme(scheme, listed(model, ids, unit), total)


def start_evaluation(request: HttpRequest, row: PortMapping | ResourceMapping) -> HttpResponse:
    """Submit a run that evaluates on the posted `set`, and lead back to where its result will be."""
    page = reverse(_url_name(row), args=[row.pk])
    chosen = get_object_or_404(ExperimentSet, pk=row_number(request.POST.get("set", "")))
    unit = request.POST.get("unit", "cycles")
    config = {predictor_field(row): row.pk, "experiment_set": chosen.pk, "unit": unit}
    if start_or_tell(request, "evaluate", config, f"Evaluate {row.name} on {chosen.name}") is None:
        return redirect(f"{page}?tab=accuracy")
    return redirect(f"{page}?tab=accuracy&set={chosen.pk}&unit={unit}")


def predictor_field(row: PortMapping | ResourceMapping) -> str:
    """What an evaluation run's description calls a mapping of this kind."""
    return "mapping" if isinstance(row, PortMapping) else "resource_mapping"


def evaluation_address(row: PortMapping | ResourceMapping) -> str:
    """Where to post the wish for an evaluation."""
    return reverse(f"{_url_name(row)}-evaluate", args=[row.pk])


def _url_name(row: PortMapping | ResourceMapping) -> str:
    return "mapping" if isinstance(row, PortMapping) else "resource-mapping"


@require_POST
def mapping_evaluate(request: HttpRequest, pk: int) -> HttpResponse:
    """Submit a run that evaluates the mapping on `set`, and lead back to where its result will be."""
    return start_evaluation(request, get_object_or_404(PortMapping, pk=pk))


@require_POST
def resource_mapping_evaluate(request: HttpRequest, pk: int) -> HttpResponse:
    """The same of a resource mapping."""
    return start_evaluation(request, get_object_or_404(ResourceMapping, pk=pk))


urlpatterns = [
    path("mappings/<int:pk>/evaluate/", mapping_evaluate, name="mapping-evaluate"),
    path("resource-mappings/<int:pk>/evaluate/", resource_mapping_evaluate, name="resource-mapping-evaluate"),
]
