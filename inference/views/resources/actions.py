"""What a user does with a resource mapping: export, evaluate, name and note, delete."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.text import slugify
from django.views.decorators.http import require_POST

from inference.exchange.exporting import RESOURCE_EXPORTS
from inference.models import ResourceMapping
from inference.views.address import one_of
from inference.views.mappings.evaluating import start_evaluation
from inference.views.naming import delete_page, edit_page


def resource_mapping_export(request: HttpRequest, pk: int) -> HttpResponse:
    """The resource mapping as a file in the product's own JSON."""
    row = get_object_or_404(ResourceMapping.objects.select_related("isa"), pk=pk)
    known = tuple(RESOURCE_EXPORTS)
    export = RESOURCE_EXPORTS[one_of(request, "format", known, known[0])]
    name = f"{slugify(row.name) or 'resource-mapping'}.{export.extension}"
    return HttpResponse(
        export.write(row),
        content_type=export.content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_POST
def resource_mapping_evaluate(request: HttpRequest, pk: int) -> HttpResponse:
    """Submit a run that evaluates the mapping on `set`, and lead back to where its result will be."""
    return start_evaluation(request, get_object_or_404(ResourceMapping, pk=pk))


def resource_mapping_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a resource mapping."""
    return edit_page(request, get_object_or_404(ResourceMapping, pk=pk), "resource-mapping", "mappings")


def resource_mapping_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a resource mapping, after saying what depends on it."""
    row = get_object_or_404(ResourceMapping, pk=pk)
    return delete_page(request, row, "resource-mapping", "resource-mappings")


urlpatterns = [
    path("resource-mappings/<int:pk>/export/", resource_mapping_export, name="resource-mapping-export"),
    path("resource-mappings/<int:pk>/evaluate/", resource_mapping_evaluate, name="resource-mapping-evaluate"),
    path("resource-mappings/<int:pk>/edit/", resource_mapping_edit, name="resource-mapping-edit"),
    path("resource-mappings/<int:pk>/delete/", resource_mapping_delete, name="resource-mapping-delete"),
]
