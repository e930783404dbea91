"""A resource mapping's page: facts, and one of the views chosen by `?tab=`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.core.resources import ResourceMapping as Resources
from inference.exchange.resource_mappings import load_resource_mapping
from inference.models import ResourceMapping
from inference.queries.evaluations import evaluations_of
from inference.views.address import one_of
from inference.views.mappings.accuracy import accuracy_tab
from inference.views.mappings.list import evaluation_url, source_label
from inference.views.resources.loads import loads_tab

Context = dict[str, Any]


@dataclass(frozen=True)
class Tab:
    """A view of a resource mapping: its label, its template, what that needs, and the scripts it runs."""

    label: str
    template: str
    context: Callable[[HttpRequest, ResourceMapping, Resources], Context]
    scripts: tuple[str, ...] = ()


TABS: dict[str, Tab] = {
    "loads": Tab("Loads", "inference/resources/loads.html", loads_tab),
    "accuracy": Tab(
        "Accuracy", "inference/mapping/accuracy.html", accuracy_tab, ("js/heatmap.js", "js/figures.js")
    ),
}


def resource_mapping(request: HttpRequest, pk: int) -> HttpResponse:
    """One resource mapping."""
    rows = ResourceMapping.objects.select_related("isa", "machine", "converted_from")
    found = get_object_or_404(rows, pk=pk)
    key = one_of(request, "tab", tuple(TABS), "loads")
    value = _value(found.pk, found.created)
    tab = TABS[key]
    best = evaluations_of(found).filter(unit="cycles").first()
    context = {
        "mapping": found,
        "facts": _facts(found, value),
        "best": None if best is None else (best.mape, source_label(best), evaluation_url(best)),
        "left_out": found.report.get("left_out", {}).items(),
        "tab": key,
        "tabs": [(name, other.label) for name, other in TABS.items()],
        "tab_template": tab.template,
        "scripts": tab.scripts,
        **tab.context(request, found, value),
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


urlpatterns = [path("resource-mappings/<int:pk>/", resource_mapping, name="resource-mapping")]
