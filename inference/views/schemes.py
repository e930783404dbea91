"""The page of an instruction scheme: what mappings, measurements and discoveries say of it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.exchange.scheme_csv import write_scheme_csv
from inference.models import InstructionScheme, PortMapping
from inference.queries.paging import Order
from inference.queries.resource_mappings import loads_of
from inference.queries.scheme_facts import (
    EXPERIMENT_COLUMNS,
    Said,
    measured_alone,
    page_of_experiments,
    said_of,
    witnesses_of,
)
from inference.views.address import whole_number
from inference.views.files import file_answer
from inference.views.mappings.list import evaluation_url, source_label
from inference.views.scheme_panels import panels_for

LARGEST = 12  # loads of a resource mapping that are listed


def scheme(request: HttpRequest, pk: int) -> HttpResponse:
    """A scheme; the address has `mapping`, which predicts its experiments, and their `sort` and `page`."""
    found = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=pk)
    said = said_of(found)
    predicted_by = _predicted_by(request, said)
    order = Order.read(request.GET.get("sort", ""), EXPERIMENT_COLUMNS, "length")
    page, experiments = page_of_experiments(found, predicted_by, order, request.GET.get("page", ""))
    return render(
        request,
        "inference/scheme.html",
        {
            "scheme": found,
            "said": [_row(each) for each in said],
            "describing": [each.mapping for each in said if each.uops is not None],
            "loads": [(each, each.loads[:LARGEST], len(each.loads[LARGEST:])) for each in loads_of(found)],
            "alone": measured_alone(found),
            "witnesses": [(each, ((each.mask, 1),)) for each in witnesses_of(found)],
            "predicted_by": predicted_by,
            "sort": str(order),
            "page": page,
            "experiments": experiments,
            "panels": panels_for(request, found),
        },
    )


def _predicted_by(request: HttpRequest, said: list[Said]) -> PortMapping | None:
    """The mapping that the address names, else the newest that describes the scheme."""
    describing = {each.mapping.pk: each.mapping for each in said if each.uops is not None}
    wanted = whole_number(request, "mapping")
    if wanted is None:
        return next(iter(describing.values()), None)
    return describing.get(wanted) or get_object_or_404(PortMapping.objects.none(), pk=wanted)


def _row(said: Said) -> dict[str, Any]:
    residual = said.residual
    if residual is None:
        return {"said": said}
    url = f"{evaluation_url(residual.evaluation)}&scheme="
    return {"said": said, "error": residual.error, "on": source_label(residual.evaluation), "url": url}


def scheme_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The measurements that contain the scheme as a file that can be imported."""
    found = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=pk)
    return file_answer(write_scheme_csv(found), "text/csv", f"{found.text} experiments", "csv")


urlpatterns = [
    path("schemes/<int:pk>/", scheme, name="scheme"),
    path("schemes/<int:pk>/experiments.csv", scheme_csv, name="scheme-csv"),
]
