"""The tab with the views of a mapping's evaluation, or the button that starts it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.core.experiment import Unit
from inference.features.judging.engine.evaluation_sheets import compared_evaluation, predictor_field
from inference.features.judging.engine.view_addresses import HEAT_MAP
from inference.features.judging.engine.view_tabs import views_context
from inference.features.running.runs.archive import archived_evaluation
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.models import ExperimentSet, PortMapping, ResourceMapping, Run
from inference.web.contributions import MenuPlace, PagePanel, PanelPlace, entries_of
from inference.web.request_fields import start_run
from inference.web.validation import choice_parameter, row_id_or_none

HELD_OUT = "held-out"


def accuracy_tab(request: HttpRequest, row: PortMapping | ResourceMapping) -> dict[str, Any]:
    """The context of the tab: the set in the address, with the views of the mapping's evaluation on it."""
    evaluated = set(row.evaluations.values_list("experiment_set_id", flat=True))
    sets = _sets(row, evaluated)
    key = request.GET.get("set", "") or next(iter(sets), "")
    if key and key not in sets:
        raise BadRequest(f"set must be {HELD_OUT} or the id of a set of this ISA, not {key[:40]!r}")
    selected_set = sets.get(key)
    unit = Unit(choice_parameter(request, "unit", tuple(Unit), Unit.CYCLES))
    evaluations = (
        row.evaluations.filter(experiment_set=selected_set).order_by("id") if key else row.evaluations.none()
    )
    related = evaluations.select_related("mapping__isa", "resource_mapping__isa", "experiment_set")
    by_unit = {evaluation.unit: evaluation for evaluation in related}
    context: dict[str, Any] = {
        "choices": [(name, _label(experiment_set, evaluated)) for name, experiment_set in sets.items()],
        "key": key,
        "chosen": selected_set,
        "unit": unit.value,
        "evaluate_url": reverse(f"{_url_name(row)}-evaluate", args=[row.pk]),
        "set_offers": entries_of(MenuPlace.SET),
        "predictor_field": predictor_field(row),
    }
    if not by_unit:
        return {**context, "waiting": _run(row, selected_set, unit)}
    evaluation = by_unit.get(
        unit.value, next(iter(by_unit.values()))
    )  # an evaluation in any unit has the data for all units
    views = views_context(request, compared_evaluation(evaluation), HEAT_MAP)
    return {**context, "evaluation": evaluation, "error": views.get("filter_error"), **views}


def _sets(
    row: PortMapping | ResourceMapping, evaluated: Collection[int | None]
) -> dict[str, ExperimentSet | None]:
    """{value in the address: the set}, None for held-out experiments; evaluated ones first."""
    rows = ExperimentSet.objects.filter(isa=row.isa).order_by("name")
    sets = sorted(rows, key=lambda candidate: candidate.pk not in evaluated)
    first: dict[str, ExperimentSet | None] = {HELD_OUT: None} if None in evaluated else {}
    return first | {str(experiment_set.pk): experiment_set for experiment_set in sets}


def _label(experiment_set: ExperimentSet | None, evaluated: Collection[int | None]) -> str:
    if experiment_set is None:
        return "held out by its run"
    return (
        experiment_set.name
        if experiment_set.pk in evaluated
        else f"{experiment_set.name} – not evaluated yet"
    )


def _run(row: PortMapping | ResourceMapping, experiment_set: ExperimentSet | None, unit: Unit) -> Run | None:
    """The unfinished run that evaluates the mapping on the set, None without one."""
    if experiment_set is None:
        return None
    config = {predictor_field(row): row.pk, "experiment_set": experiment_set.pk, "unit": unit.value}
    return Run.objects.filter(kind="evaluate", config=config).exclude(state__in=Run.FINAL).first()


@require_POST
def start_evaluation(
    request: HttpRequest, pk: int, model: type[PortMapping] | type[ResourceMapping]
) -> HttpResponse:
    """Start a run that evaluates on the posted `set`, and redirect to the tab with its result."""
    rows: QuerySet[Any] = model._default_manager.all()
    row = get_object_or_404(rows, pk=pk)
    page = reverse(_url_name(row), args=[row.pk])
    experiment_set = get_object_or_404(ExperimentSet, pk=row_id_or_none(request.POST.get("set", "")))
    unit = request.POST.get("unit", "cycles")
    config = {predictor_field(row): row.pk, "experiment_set": experiment_set.pk, "unit": unit}
    if start_run(request, "evaluate", config) is None:
        return redirect(f"{page}?tab=accuracy")
    return redirect(f"{page}?tab=accuracy&set={experiment_set.pk}&unit={unit}")


def _url_name(row: PortMapping | ResourceMapping) -> str:
    return predictor_field(row).replace("_", "-")


urlpatterns = [
    path(f"{name}s/<int:pk>/evaluate/", start_evaluation, {"model": model}, name=f"{name}-evaluate")
    for name, model in (("mapping", PortMapping), ("resource-mapping", ResourceMapping))
]

PRESENTATIONS = {"evaluate": KindPresentation(archived=archived_evaluation)}
PANELS = tuple(
    PagePanel(
        place_of,
        "accuracy",
        "Accuracy",
        "inference/evaluations/accuracy.html",
        lambda request, subject: accuracy_tab(request, subject.row),
        order=10,
        scripts=("js/heatmap.js", "js/small-maps.js"),
        styles=("css/comparisons.css",),
    )
    for place_of in (PanelPlace.MAPPING, PanelPlace.RESOURCE_MAPPING)
)
