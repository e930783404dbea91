"""How well a mapping predicts: a tab with the views of the chosen evaluation, or the button that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.core.metrics import Unit
from inference.features.judging.engine.evaluation_sheets import compared_evaluation
from inference.features.judging.engine.view_addresses import HEAT_MAP
from inference.features.judging.engine.view_tabs import views_context
from inference.models import Evaluation, ExperimentSet, PortMapping, ResourceMapping, Run
from inference.web.menus import MenuPlace, entries_of
from inference.web.requests import one_of, row_number
from inference.web.run_forms import start_or_tell

HELD_OUT = "held-out"


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


def accuracy_tab(request: HttpRequest, row: PortMapping | ResourceMapping) -> dict[str, Any]:
    """The chosen measurements, with all views where the mapping was evaluated on them."""
    choices = _choices(row)
    chosen = _chosen(request, choices)
    unit = Unit(one_of(request, "unit", tuple(Unit), Unit.CYCLES))
    context: dict[str, Any] = {
        "choices": choices,
        "chosen": chosen,
        "unit": unit.value,
        "unit_label": unit.label,
        "evaluate_url": reverse(f"{_url_name(row)}-evaluate", args=[row.pk]),
        "set_offers": entries_of(MenuPlace.SET),
        "predictor_field": predictor_field(row),
    }
    if chosen is None:
        return context
    evaluation = _evaluation(row, chosen, unit)
    if evaluation is None:
        return {**context, "waiting": _run(row, chosen, unit)}
    views = views_context(request, *compared_evaluation(evaluation), HEAT_MAP)
    return {**context, "evaluation": evaluation, "error": views.get("filter_error"), **views}


def _choices(row: PortMapping | ResourceMapping) -> list[MeasurementsChoice]:
    evaluated = set(row.evaluations.values_list("experiment_set_id", flat=True).distinct())
    held_out = row.evaluations.filter(held_out_by__isnull=False).exists()
    first = [MeasurementsChoice("held out by its run", True)] if held_out else []
    sets = ExperimentSet.objects.filter(isa=row.isa).order_by("name")
    others = [MeasurementsChoice(one.name, one.pk in evaluated, one) for one in sets]
    return [*first, *sorted(others, key=lambda choice: not choice.evaluated)]


def _chosen(request: HttpRequest, choices: list[MeasurementsChoice]) -> MeasurementsChoice | None:
    key = request.GET.get("set", "")
    if not key:
        return choices[0] if choices else None
    chosen = next((choice for choice in choices if choice.key == key), None)
    if chosen is None:
        raise BadRequest(f"set must be {HELD_OUT} or the number of a set of this ISA, not {key[:40]!r}")
    return chosen


def _evaluation(
    row: PortMapping | ResourceMapping, chosen: MeasurementsChoice, unit: Unit
) -> Evaluation | None:
    """The one in this unit, else another: each has all that the views of any unit need."""
    rows = row.evaluations.filter(experiment_set=chosen.experiment_set).order_by("id")
    related = ("mapping__isa", "resource_mapping__isa", "experiment_set")
    by_unit = {evaluation.unit: evaluation for evaluation in rows.select_related(*related)}
    return by_unit.get(unit.value, next(iter(by_unit.values()), None))


def _run(row: PortMapping | ResourceMapping, chosen: MeasurementsChoice, unit: Unit) -> Run | None:
    """The run that makes the missing evaluation, if one was asked for and is not over."""
    if chosen.experiment_set is None:
        return None
    config = {predictor_field(row): row.pk, "experiment_set": chosen.experiment_set.pk, "unit": unit.value}
    return Run.objects.filter(kind="evaluate", config=config).exclude(state__in=Run.FINAL).first()


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


def _url_name(row: PortMapping | ResourceMapping) -> str:
    return predictor_field(row).replace("_", "-")


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
