"""Pages of resource mappings: the list, each with the tab of its address, and conversions."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.errors import InvalidInputError
from inference.core.resources import MAX_RESOURCES, Conversion, TooManyResourcesError
from inference.core.resources import ResourceMapping as Resources
from inference.features.library.resources.loads_tab import loads_tab
from inference.features.library.resources.query import (
    RESOURCE_MAPPING_COLUMNS,
    ResourceMappingSubject,
    resource_mappings,
)
from inference.formats.problems import ExchangeError
from inference.models import PortMapping, ResourceMapping
from inference.storage.exporting import RESOURCE_EXPORTS
from inference.storage.mappings import convert, load_resource_mapping
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.contributions import PagePanel, PanelPlace, tabs_of
from inference.web.file_answers import export_path
from inference.web.listed_mappings import best_score, listed_mappings
from inference.web.naming import naming_paths
from inference.web.paging import Page, list_page
from inference.web.request_fields import StrictForm, form_page


def resource_mappings_page(request: HttpRequest) -> HttpResponse:
    """Lists resource mappings, newest first, filtered by name or note."""

    def context(page: Page[Any]) -> Context:
        return {
            "rows": listed_mappings(page.rows),
            "any_port_mapping": PortMapping.objects.exists(),
        }

    return list_page(
        request,
        "inference/resources/list.html",
        resource_mappings,
        RESOURCE_MAPPING_COLUMNS,
        "-created",
        context,
    )


Context = dict[str, Any]


def resource_mapping(request: HttpRequest, pk: int) -> HttpResponse:
    rows = ResourceMapping.objects.select_related("isa", "machine__isa", "converted_from")
    row = get_object_or_404(rows, pk=pk)
    value = _value(row.pk, row.created)
    subject = ResourceMappingSubject(row, value)
    context = {
        "mapping": row,
        "facts": _facts(row, value),
        "best": best_score(row),
        "left_out": row.report.get("left_out", {}).items(),
        **tabs_of(request, PanelPlace.RESOURCE_MAPPING, subject, "loads"),
    }
    status = 400 if context.get("error") else 200
    return render(request, "inference/resources/page.html", context, status=status)


@lru_cache(maxsize=4)
def _value(pk: int, _created: datetime) -> Resources:
    """The loads; cached because they never change, and there may be a hundred thousand."""
    return load_resource_mapping(ResourceMapping.objects.get(pk=pk))


def _facts(row: ResourceMapping, value: Resources) -> Context:
    instructions = row.report.get("instructions")
    return {
        "schemes": len(value.loads),
        "resources": len(value.resources),
        "classes": value.classes,
        "instructions": instructions,
        "matched": None if instructions is None else instructions - len(row.report["left_out"]),
    }


class ConversionForm(StrictForm):
    """Name and size limit of the new resource mapping."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="Commands and other pages refer to it by this name.",
        widget=forms.TextInput,
    )
    max_resources = forms.IntegerField(
        label="Maximum resources",
        min_value=1,
        max_value=MAX_RESOURCES,
        initial=Conversion.max_resources,
        help_text="One per union of overlapping port sets: their number can double with every port.",
    )
    note = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))


def mapping_convert(request: HttpRequest, pk: int) -> HttpResponse:
    """The form for a conversion; a POST stores the resource mapping."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    suggested = free_name(ResourceMapping, f"{row.name} as resources")
    form = ConversionForm(request.POST if request.method == "POST" else None, initial={"name": suggested})
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        try:
            converted = convert(row, data["name"], Conversion(data["max_resources"]), data["note"])
        except (TooManyResourcesError, InvalidInputError) as error:
            form.add_error("max_resources", str(error))
        except ExchangeError as error:
            form.add_error("name", str(error))
        else:
            messages.success(request, f"“{converted.name}” predicts the same as “{row.name}”.")
            return redirect("resource-mapping", converted.pk)
    return form_page(request, "inference/resources/convert.html", form, mapping=row)


urlpatterns = [
    path("resource-mappings/", resource_mappings_page, name="resource-mappings"),
    path("resource-mappings/<int:pk>/", resource_mapping, name="resource-mapping"),
    path("mappings/<int:pk>/convert/", mapping_convert, name="mapping-convert"),
    export_path(
        ResourceMapping.objects.select_related("isa"),
        "resource-mapping",
        "resource-mappings",
        RESOURCE_EXPORTS,
    ),
    *naming_paths(ResourceMapping, "resource-mapping", "resource-mappings", menu="mappings"),
]

PANELS = (
    PagePanel(
        PanelPlace.RESOURCE_MAPPING,
        "loads",
        "Loads",
        "inference/resources/loads.html",
        lambda request, subject: loads_tab(request, subject.row, subject.value),
    ),
)
