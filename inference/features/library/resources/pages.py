"""Resource mappings: the list, the page of each with the tab of its address, and conversions to them."""

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
from inference.features.library.resources.query import (
    RESOURCE_MAPPING_COLUMNS,
    ShownResources,
    resource_mappings,
)
from inference.formats.errors import ExchangeError
from inference.models import Evaluation, PortMapping, ResourceMapping
from inference.storage.exporting import RESOURCE_EXPORTS
from inference.storage.names import NAME_LIMIT, free_name
from inference.storage.resource_mappings import convert, load_resource_mapping
from inference.web.contributions import PanelPlace, tabs_of
from inference.web.file_answers import export_path
from inference.web.listed_mappings import best_score, listed_mappings
from inference.web.naming import naming_paths
from inference.web.paging import Page, list_page
from inference.web.request_fields import StrictForm


def resource_mappings_page(request: HttpRequest) -> HttpResponse:
    """All resource mappings, newest first, filtered by name or note."""

    def context(page: Page[Any]) -> Context:
        newest = Evaluation.objects.select_related("experiment_set").defer("heat_map")
        return {
            "rows": listed_mappings(page.rows, newest),
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
    rows = ResourceMapping.objects.select_related("isa", "machine", "converted_from")
    found = get_object_or_404(rows, pk=pk)
    value = _value(found.pk, found.created)
    subject = ShownResources(found, value)
    context = {
        "mapping": found,
        "facts": _facts(found, value),
        "best": best_score(found),
        "left_out": found.report.get("left_out", {}).items(),
        **tabs_of(request, PanelPlace.RESOURCE_MAPPING, subject, "loads"),
    }
    status = 400 if context.get("error") else 200
    return render(request, "inference/resources/page.html", context, status=status)


@lru_cache(maxsize=4)
def _value(pk: int, _created: datetime) -> Resources:
    """The loads, remembered between two pages: they never change, and there may be a hundred thousand."""
    return load_resource_mapping(ResourceMapping.objects.get(pk=pk))


def _facts(found: ResourceMapping, value: Resources) -> Context:
    instructions = found.report.get("instructions")
    return {
        "schemes": len(value.loads),
        "resources": len(value.resources),
        "classes": value.classes,
        "instructions": instructions,
        "matched": None if instructions is None else instructions - len(found.report["left_out"]),
    }


class ConversionForm(StrictForm):
    """The name of the new resource mapping, and how large it may become."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="Commands and other pages find it by this name.",
        widget=forms.TextInput,
    )
    max_resources = forms.IntegerField(
        label="Most resources",
        min_value=1,
        max_value=MAX_RESOURCES,
        initial=Conversion.max_resources,
        help_text="One for each union of overlapping port sets: their number can double with every port.",
    )
    note = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))


def mapping_convert(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a name, and store the resource mapping that predicts the same as a port mapping."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    suggested = free_name(ResourceMapping, f"{row.name} as resources")
    form = ConversionForm(request.POST if request.method == "POST" else None, initial={"name": suggested})
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        try:
            made = convert(row, data["name"], Conversion(data["max_resources"]), data["note"])
        except (TooManyResourcesError, InvalidInputError) as error:
            form.add_error("max_resources", str(error))
        except ExchangeError as error:
            form.add_error("name", str(error))
        else:
            messages.success(request, f"“{made.name}” predicts the same as “{row.name}”.")
            return redirect("resource-mapping", made.pk)
    context = {"mapping": row, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "inference/resources/convert.html", context, status=status)


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
