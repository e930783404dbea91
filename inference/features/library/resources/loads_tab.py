"""The loads of a resource mapping: classes of schemes × resources (thesis Fig. 7.1b, as a table)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from inference.core.resources import ResourceMapping as Resources
from inference.features.library.resources.query import (
    LoadClass,
    classes_of,
)
from inference.isa.search import SearchError
from inference.models import InstructionScheme, ResourceMapping
from inference.models.scheme_search import search_schemes
from inference.web.paging import Page
from inference.web.validation import number_parameter

CLASSES_PER_PAGE = 50
MAX_COLUMNS = 24
"""Number of resources above which rows list loads instead of having a column per resource."""
LISTED = 12
"""Loads that a row lists, where resources have no columns."""

SHADES = 4


@dataclass(frozen=True)
class LoadCell:
    """The load of a class on one resource; `shade` from 1 (small) to 4 (limiting), 0 for none."""

    resource: str
    load: float
    shade: int


@dataclass(frozen=True)
class LoadClassRow:
    """A class of schemes, (id, text) each, with its loads; `further`: number of unlisted loads."""

    schemes: Sequence[tuple[int, str]]
    cycles: float
    cells: Sequence[LoadCell]
    further: int = 0


def loads_tab(request: HttpRequest, row: ResourceMapping, value: Resources) -> dict[str, Any]:
    """Context with the table, searched in the syntax of the instruction set's page, and by resource."""
    q = request.GET.get("q", "").strip()
    resource = number_parameter(request, "resource")
    number = number_parameter(request, "page", 0) or 0
    wide = len(value.resources) > MAX_COLUMNS
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
    classes = classes_of(value, ids.keys(), resource)
    start = number * CLASSES_PER_PAGE
    listed = classes[start : start + CLASSES_PER_PAGE]
    rows = [_row(load_class, value, ids, wide) for load_class in listed]
    has_next = start + CLASSES_PER_PAGE < len(classes)
    page = Page(
        rows, len(classes), str(number + 1) if has_next else None, str(number - 1) if number else None
    )
    return {**context, "page": page, "matching": sum(len(load_class.schemes) for load_class in classes)}


def _row(load_class: LoadClass, value: Resources, ids: dict[str, int], wide: bool) -> LoadClassRow:
    cycles = load_class.cycles
    schemes = [(ids[text], text) for text in load_class.schemes]
    if not wide:
        loads = dict(load_class.loads)
        cells = [_cell(name, loads.get(k, 0.0), cycles) for k, name in enumerate(value.resources)]
        return LoadClassRow(schemes, cycles, cells)
    ordered = sorted(load_class.loads, key=lambda pair: -pair[1])
    cells = [_cell(value.resources[k], load, cycles) for k, load in ordered[:LISTED]]
    return LoadClassRow(schemes, cycles, cells, max(0, len(ordered) - LISTED))


def _cell(resource: str, load: float, cycles: float) -> LoadCell:
    # The sum of loads is rounded: 1e-9 keeps the limiting resource in the darkest shade.
    shade = 0 if load == 0 else max(1, min(SHADES, int(SHADES * load / cycles + 1e-9)))
    return LoadCell(resource, load, shade)
