"""What a user does with a mapping: export, evaluate, name and note, delete."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.exchange.errors import ExchangeError
from inference.exchange.exporting import MAPPING_EXPORTS
from inference.models import PortMapping
from inference.views.address import one_of
from inference.views.files import file_answer
from inference.views.mappings.evaluating import start_evaluation
from inference.views.naming import delete_page, edit_page


def mapping_export(request: HttpRequest, pk: int) -> HttpResponse:
    """The mapping as a file, in the product's own JSON or in `?format=`."""
    row = get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)
    known = {key: export for key, export in MAPPING_EXPORTS.items() if export.describes(row.isa.name)}
    key = one_of(request, "format", tuple(known), next(iter(known)))
    try:
        text = known[key].write(row)
    except ExchangeError as error:
        messages.error(request, f"Nothing was exported: {error}")
        return redirect("mapping", row.pk)
    return file_answer(text, known[key].content_type, row.name, known[key].extension)


@require_POST
def mapping_evaluate(request: HttpRequest, pk: int) -> HttpResponse:
    """Submit a run that evaluates the mapping on `set`, and lead back to where its result will be."""
    return start_evaluation(request, get_object_or_404(PortMapping, pk=pk))


def mapping_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a mapping."""
    return edit_page(request, get_object_or_404(PortMapping, pk=pk), "mapping", "mappings")


def mapping_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a mapping, after saying what depends on it."""
    return delete_page(request, get_object_or_404(PortMapping, pk=pk), "mapping", "mappings")


urlpatterns = [
    path("mappings/<int:pk>/export/", mapping_export, name="mapping-export"),
    path("mappings/<int:pk>/evaluate/", mapping_evaluate, name="mapping-evaluate"),
    path("mappings/<int:pk>/edit/", mapping_edit, name="mapping-edit"),
    path("mappings/<int:pk>/delete/", mapping_delete, name="mapping-delete"),
]
