"""Resource mappings: the list, a mapping's page, making one of a port mapping, and what users do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.text import slugify

from inference.core.errors import InvalidInputError
from inference.core.resources import MAX_RESOURCES, Conversion, TooManyResourcesError
from inference.core.resources import ResourceMapping as Resources
from inference.features.library.resources.query import (
    RESOURCE_MAPPING_COLUMNS,
    LoadClass,
    ShownResources,
    classes_of,
    resource_mappings,
)
from inference.formats.errors import ExchangeError
from inference.isa.search import SearchError
from inference.models import Evaluation, InstructionScheme, PortMapping, ResourceMapping
from inference.models.scheme_search import search_schemes
from inference.storage.evaluations import evaluations_of
from inference.storage.exporting import RESOURCE_EXPORTS
from inference.storage.names import NAME_LIMIT, free_name
from inference.storage.resource_mappings import convert, load_resource_mapping
from inference.web.listed_mappings import ListedMapping, evaluation_url, source_label
from inference.web.naming import delete_page, edit_page
from inference.web.paging import Order, Page, page_of
from inference.web.panels import PanelPlace, panels_of
from inference.web.requests import one_of, whole_number

# The list of resource mappings.


def resource_mappings_page(request: HttpRequest) -> HttpResponse:
    """All resource mappings, newest first, filtered by name or note."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), RESOURCE_MAPPING_COLUMNS, "-created")
    page = page_of(resource_mappings(q), order, RESOURCE_MAPPING_COLUMNS, request.GET.get("page", ""))
    newest = Evaluation.objects.select_related("experiment_set").defer("heat_map")
    rows: Sequence[Any] = page.rows  # with their `evaluation_id`
    evaluations = newest.in_bulk([row.evaluation_id for row in rows if row.evaluation_id])
    context = {
        "page": page,
        "rows": [ListedMapping(row, evaluations.get(row.evaluation_id)) for row in rows],
        "q": q,
        "sort": str(order),
        "any_mapping": bool(page.rows) or ResourceMapping.objects.exists(),
        "any_port_mapping": PortMapping.objects.exists(),
    }
    return render(request, "inference/resources/list.html", context)


# The loads of a resource mapping: classes of schemes × resources (thesis Fig. 7.1b, as a table).


CLASSES_PER_PAGE = 50
MOST_COLUMNS = 24
"""With more resources than these, a row lists what it loads instead of having a column for each."""
LISTED = 12
SHADES = 4


@dataclass(frozen=True)
class LoadCell:
    """The load of a class on one resource; `shade` from 1 (little) to 4 (what limits it), 0 for none."""

    resource: str
    load: float
    shade: int


@dataclass(frozen=True)
class LoadClassRow:
    """A class of schemes with (id, text) of each, and its loads."""

    schemes: Sequence[tuple[int, str]]
    cycles: float
    cells: Sequence[LoadCell]
    further: int = 0


def loads_tab(request: HttpRequest, row: ResourceMapping, value: Resources) -> dict[str, Any]:
    """The table, searched with the syntax of the instruction set's page, and by resource."""
    q = request.GET.get("q", "").strip()
    resource = whole_number(request, "resource")
    number = whole_number(request, "page", 0) or 0
    wide = len(value.resources) > MOST_COLUMNS
    context: dict[str, Any] = {
        "q": q,
        "resource": resource,
        "resources": list(enumerate(value.resources)),
        "columns": () if wide else value.resources,
        "page": Page((), 0),
    }
    loaded = Exists(row.loads.filter(scheme=OuterRef("pk")))
    described = InstructionScheme.objects.filter(loaded, isa=row.isa)
    try:
        ids = {text: pk for pk, text in search_schemes(described, q).values_list("pk", "text")}
    except SearchError as error:
        return {**context, "error": str(error)}
    found = classes_of(value, ids.keys(), resource)
    start = number * CLASSES_PER_PAGE
    shown = found[start : start + CLASSES_PER_PAGE]
    rows = [_row(each, value, ids, wide) for each in shown]
    more = start + CLASSES_PER_PAGE < len(found)
    page = Page(rows, len(found), str(number + 1) if more else None, str(number - 1) if number else None)
    return {**context, "page": page, "matching": sum(len(each.schemes) for each in found)}


def _row(each: LoadClass, value: Resources, ids: dict[str, int], wide: bool) -> LoadClassRow:
    most = each.cycles
    schemes = [(ids[text], text) for text in each.schemes]
    if not wide:
        loads = dict(each.loads)
        cells = [_cell(name, loads.get(k, 0.0), most) for k, name in enumerate(value.resources)]
        return LoadClassRow(schemes, most, cells)
    ordered = sorted(each.loads, key=lambda pair: -pair[1])
    cells = [_cell(value.resources[k], load, most) for k, load in ordered[:LISTED]]
    return LoadClassRow(schemes, most, cells, max(0, len(ordered) - LISTED))


def _cell(resource: str, load: float, most: float) -> LoadCell:
    shade = 0 if load == 0 else max(1, min(SHADES, int(SHADES * load / most + 1e-9)))
    return LoadCell(resource, load, shade)


# A resource mapping's page: facts, and one of the views chosen by `?tab=`.


Context = dict[str, Any]


def resource_mapping(request: HttpRequest, pk: int) -> HttpResponse:
    """One resource mapping."""
    rows = ResourceMapping.objects.select_related("isa", "machine", "converted_from")
    found = get_object_or_404(rows, pk=pk)
    value = _value(found.pk, found.created)
    subject = ShownResources(found, value)
    tabs = {panel.name: panel for panel in panels_of(PanelPlace.RESOURCE_MAPPING, subject)}
    tab = tabs[one_of(request, "tab", tuple(tabs), "loads")]
    best = evaluations_of(found).filter(unit="cycles").first()
    context = {
        "mapping": found,
        "facts": _facts(found, value),
        "best": None if best is None else (best.mape, source_label(best), evaluation_url(best)),
        "left_out": found.report.get("left_out", {}).items(),
        "tab": tab.name,
        "tabs": tabs.values(),
        "panel": tab,
        **(tab.context(request, subject) or {}),
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


# Making a resource mapping of a port mapping: a matter of seconds at most, so the page does it itself.


class ConversionForm(forms.Form):
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


# What a user does with a resource mapping: export, evaluate, name and note, delete.


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


def resource_mapping_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a resource mapping."""
    return edit_page(request, get_object_or_404(ResourceMapping, pk=pk), "resource-mapping", "mappings")


def resource_mapping_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a resource mapping, after saying what depends on it."""
    row = get_object_or_404(ResourceMapping, pk=pk)
    return delete_page(request, row, "resource-mapping", "resource-mappings")


urlpatterns = [
    path("resource-mappings/", resource_mappings_page, name="resource-mappings"),
    path("resource-mappings/<int:pk>/", resource_mapping, name="resource-mapping"),
    path("mappings/<int:pk>/convert/", mapping_convert, name="mapping-convert"),
    path("resource-mappings/<int:pk>/export/", resource_mapping_export, name="resource-mapping-export"),
    path("resource-mappings/<int:pk>/edit/", resource_mapping_edit, name="resource-mapping-edit"),
    path("resource-mappings/<int:pk>/delete/", resource_mapping_delete, name="resource-mapping-delete"),
]
