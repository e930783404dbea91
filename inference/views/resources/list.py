"""The list of resource mappings."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from inference.models import Evaluation, PortMapping, ResourceMapping
from inference.queries.paging import Order, page_of
from inference.queries.resource_mappings import RESOURCE_MAPPING_COLUMNS, resource_mappings
from inference.views.mappings.list import Row


def resource_mappings_page(request: HttpRequest) -> HttpResponse:
    """All resource mappings, newest first, filtered by name or note."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), RESOURCE_MAPPING_COLUMNS, "-created")
    page = page_of(resource_mappings(q), order, RESOURCE_MAPPING_COLUMNS, request.GET.get("page", ""))
    newest = Evaluation.objects.select_related("experiment_set").defer("heat_map")
    evaluations = newest.in_bulk([row.evaluation_id for row in page.rows if row.evaluation_id])
    context = {
        "page": page,
        "rows": [Row(row, evaluations.get(row.evaluation_id)) for row in page.rows],
        "q": q,
        "sort": str(order),
        "any_mapping": bool(page.rows) or ResourceMapping.objects.exists(),
        "any_port_mapping": PortMapping.objects.exists(),
    }
    return render(request, "inference/resources/list.html", context)


urlpatterns = [path("resource-mappings/", resource_mappings_page, name="resource-mappings")]
