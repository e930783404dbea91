"""A mapping's page: facts, and one of several views chosen by `?tab=`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.core.mapping import PortMapping as Mapping
from inference.core.predicting import MappingPredictor
from inference.exchange.evidence import KEY
from inference.exchange.exporting import MAPPING_EXPORTS
from inference.exchange.stored import load_mapping
from inference.models import PortMapping
from inference.queries.characterisations import is_explained
from inference.queries.evaluations import evaluations_of
from inference.queries.fronts import StoredFront, front_of
from inference.views.address import one_of
from inference.views.mapping_offers import offers_for
from inference.views.mappings.accuracy import accuracy_tab
from inference.views.mappings.compare import compare_tab
from inference.views.mappings.doubts import doubts_tab
from inference.views.mappings.excess import excess_tab
from inference.views.mappings.explained import explained_tab
from inference.views.mappings.graph import graph_tab
from inference.views.mappings.list import evaluation_url, source_label
from inference.views.mappings.loop import loop_tab, suits
from inference.views.mappings.schemes import schemes_tab
from inference.views.runs.classes import classes_tab
from inference.views.runs.explained import found_mapping
from inference.views.runs.front import front_tab

Context = dict[str, Any]


@dataclass(frozen=True)
class Tab:
    """A view of a mapping: its label, what its template needs, and the scripts it runs."""

    label: str
    context: Callable[[HttpRequest, PortMapping, Mapping], Context]
    scripts: tuple[str, ...] = ()


def _accuracy(request: HttpRequest, row: PortMapping, value: Mapping) -> Context:
    return accuracy_tab(request, row, MappingPredictor(value))


def _evidence(request: HttpRequest, row: PortMapping, value: Mapping) -> Context:
    del value  # loaded with what it rests on
    return found_mapping(request, row)


EVIDENCE, EXPLAINED, FRONT, CLASSES = "evidence", "explained", "front", "classes"
"""Tabs of mappings found by counter-examples, by explainable inference, of those with a front, and of those
with classes alone."""

LOOP = "loop"
"""Where loops of the instruction set can be read."""

TABS: dict[str, Tab] = {
    "graph": Tab("Graph", graph_tab, ("js/graph.js",)),
    "accuracy": Tab("Accuracy", _accuracy, ("js/heatmap.js", "js/figures.js")),
    "schemes": Tab("Schemes", schemes_tab),
    LOOP: Tab("Try a loop", loop_tab, ("js/buckets.js",)),
    "compare": Tab("Compare", compare_tab),
    "doubts": Tab("Doubts", doubts_tab),
    "excess": Tab("Excess", excess_tab),
    FRONT: Tab("Front", front_tab, ("js/front.js",)),
    CLASSES: Tab("Classes", classes_tab),
    EVIDENCE: Tab("Evidence", _evidence),
    EXPLAINED: Tab("Explained", explained_tab),
}


def mapping(request: HttpRequest, pk: int) -> HttpResponse:
    """One mapping."""
    found = get_object_or_404(PortMapping.objects.select_related("isa", "run", "machine"), pk=pk)
    front = front_of(found)
    there = {
        EVIDENCE: KEY in found.report,
        EXPLAINED: is_explained(found),
        FRONT: front is not None,
        LOOP: suits(found),
        CLASSES: bool(found.report.get("congruence_classes")),
    }
    tabs = {name: tab for name, tab in TABS.items() if there.get(name, True)}
    key = one_of(request, "tab", tuple(tabs), "graph")
    value = load_mapping(found)
    tab = TABS[key]
    best = evaluations_of(found).filter(unit="cycles").first()
    context = {
        "mapping": found,
        "facts": _facts(found, value),
        "best": None if best is None else (best.mape, source_label(best), evaluation_url(best)),
        "tab": key,
        "tabs": [(name, other.label) for name, other in tabs.items()],
        "tab_template": f"inference/mapping/{key}.html",
        "scripts": tab.scripts,
        "exports": [(name, each) for name, each in MAPPING_EXPORTS.items() if each.describes(found.isa.name)],
        "offers": offers_for(found),
        "most_accurate": _most_accurate(found, front),
        "picked_from": None if front is None or front.owner.pk == found.pk else front,
        **tab.context(request, found, value),
    }
    return render(request, "inference/mapping.html", context, status=400 if context.get("error") else 200)


def _most_accurate(found: PortMapping, front: StoredFront | None) -> Context | None:
    """The most accurate point of the front, where the mapping is another one, with both errors."""
    if front is None or front.here is None or not front.points or front.points[0].pk == front.here.pk:
        return None
    return {"best": front.points[0], "here": front.here}


def _facts(found: PortMapping, value: Mapping) -> Context:
    return {
        "schemes": len(value.usage),
        "ports": len(value.ports),
        "uop_kinds": value.uop_kinds,
        "volume": value.volume,
        "classes": len(found.report.get("congruence_classes", ())),
    }


urlpatterns = [path("mappings/<int:pk>/", mapping, name="mapping")]
