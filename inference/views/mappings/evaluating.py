"""Starting an evaluation of whatever predicts from its page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.views.address import row_number
from inference.views.starting import start_or_tell


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
