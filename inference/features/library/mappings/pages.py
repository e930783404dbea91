"""A mapping's page with the tab that its address names, and what a user does with the mapping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.experiment import Experiment
from inference.core.hidden_uops import HiddenUops, hidden_in, hidden_kinds
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops
from inference.core.measured_slots import MeasuredSlots, SlotReading
from inference.core.throughput import inverse_throughput
from inference.features.library.experiments.query import Singleton, measured_singletons, sets_with_singletons
from inference.features.library.mappings import listing
from inference.features.library.mappings.checked import Check, Checks
from inference.features.library.mappings.query import ShownMapping, measured_slots_of
from inference.formats.errors import ExchangeError
from inference.isa.search import SearchError
from inference.models import InstructionScheme, PortMapping
from inference.models.scheme_search import FIT, by_fit, search_schemes
from inference.storage.evaluations import evaluations_of
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.judging import grounds_of
from inference.storage.rows import load_mapping
from inference.web.listed_mappings import evaluation_url, source_label
from inference.web.menus import MenuPlace, entries_of
from inference.web.naming import delete_page, edit_page
from inference.web.paging import Order, Page, page_in_memory
from inference.web.panels import PanelPlace, panels_of, shown_panels
from inference.web.requests import file_answer, one_of, whole_number

# The scheme table of a mapping: µops, and how long one instance takes, predicted and measured.


@dataclass(frozen=True)
class SchemeRow:
    """One scheme of the table; `slots`: issue slots; `predicted`, `measured`: cycles of one instance.

    `hidden`: what no experiment can show of its µops. `counted`: what padding shows of its slots. `check`:
    how it fared where somebody looked, None where nobody did. `conflicts`: what other results of the machine
    say instead.
    """

    pk: int
    text: str
    uops: Uops
    slots: int
    predicted: float
    singleton: Singleton | None
    hidden: HiddenUops | None = None
    counted: SlotReading | None = None
    check: Check | None = None
    conflicts: Sequence[str] = ()

    @property
    def measured(self) -> float | None:
        """Cycles of one instance, None where that was never measured."""
        return None if self.singleton is None else self.singleton.cycles

    @property
    def difference(self) -> float | None:
        """Predicted against measured, in per cent of the measurement."""
        return None if self.measured is None else 100 * (self.predicted - self.measured) / self.measured


UNKNOWN_LAST = float("-inf")
COLUMNS: dict[str, Callable[[SchemeRow], Any]] = {
    "text": lambda row: row.text,
    "predicted": lambda row: row.predicted,
    "measured": lambda row: UNKNOWN_LAST if row.measured is None else row.measured,
    "difference": lambda row: UNKNOWN_LAST if row.difference is None else abs(row.difference),
    "uops": lambda row: sum(count for _, count in row.uops),
    "slots": lambda row: row.slots,
    "checked": lambda row: (row.check is not None, (row.check is not None and row.check.error) or 0.0),
}


def schemes_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The table, searched with the syntax of the instruction set's page."""
    q = request.GET.get("q", "").strip()
    set_id = whole_number(request, "set")
    usual = FIT if q else "text"
    order = Order.read(request.GET.get("sort", ""), {key: key for key in (*COLUMNS, FIT)}, usual)
    context: dict[str, Any] = {
        "q": q,
        "sort": "" if order.column == FIT else str(order),
        "measured_in": set_id,
        "sets": sets_with_singletons(row.isa),
        "page": Page((), 0),
        "measured_slots": (measured_slots := measured_slots_of(row)),
        "checks": (checks := Checks(row)),
    }
    try:
        rows = [_checked(each, checks) for each in _rows(row, value, q, set_id, measured_slots)]
    except SearchError as error:
        return {**context, "error": str(error)}
    if order.column in COLUMNS:
        rows.sort(key=COLUMNS[order.column], reverse=order.descending)
    return {**context, "page": page_in_memory(rows, whole_number(request, "page", 0) or 0)}


def _rows(
    row: PortMapping, value: Mapping, q: str, set_id: int | None, measured_slots: MeasuredSlots | None
) -> list[SchemeRow]:
    described = InstructionScheme.objects.filter(pk__in=row.usages.values("scheme"))
    found = by_fit(search_schemes(described, q), q).order_by(FIT, "pk") if q else described
    singletons = measured_singletons(row.isa, set_id)
    hidden = hidden_kinds(value)
    counted = {} if measured_slots is None else measured_slots.readings
    grounds = grounds_of(row)
    return [
        SchemeRow(
            pk=pk,
            text=text,
            uops=value.usage[text],
            slots=value.slots_of(text),
            predicted=inverse_throughput(value, Experiment.of([text])),
            singleton=singletons.get(pk),
            hidden=hidden_in(value, text, hidden),
            counted=counted.get(text),
            conflicts=grounds.conflict_words(text),
        )
        for pk, text in found.values_list("pk", "text")
    ]


def _checked(row: SchemeRow, checks: Checks) -> SchemeRow:
    experiment = None if row.singleton is None else row.singleton.experiment_id
    return replace(row, check=checks.of(row.pk, row.text, row.predicted, row.measured, experiment))


# A mapping's page: facts, and one of several views chosen by `?tab=`.


Context = dict[str, Any]


def mapping(request: HttpRequest, pk: int) -> HttpResponse:
    """One mapping."""
    found = get_object_or_404(PortMapping.objects.select_related("isa", "run", "machine"), pk=pk)
    subject = ShownMapping(found, load_mapping(found))
    tabs = {panel.name: panel for panel in panels_of(PanelPlace.MAPPING, subject)}
    tab = tabs[one_of(request, "tab", tuple(tabs), "graph")]
    best = evaluations_of(found).filter(unit="cycles").first()
    context = {
        "mapping": found,
        "facts": _facts(found, subject.value),
        "best": None if best is None else (best.mape, source_label(best), evaluation_url(best)),
        "tab": tab.name,
        "tabs": tabs.values(),
        "panel": tab,
        "below": shown_panels(request, PanelPlace.BELOW_MAPPING, subject),
        "exports": [(name, each) for name, each in MAPPING_EXPORTS.items() if each.describes(found.isa.name)],
        "offers": entries_of(MenuPlace.MAPPING, found),
        **(tab.context(request, subject) or {}),
    }
    return render(
        request, "inference/mappings/mapping.html", context, status=400 if context.get("error") else 200
    )


def _facts(found: PortMapping, value: Mapping) -> Context:
    return {
        "schemes": len(value.usage),
        "ports": len(value.ports),
        "uop_kinds": value.uop_kinds,
        "volume": value.volume,
        "classes": len(found.report.get("congruence_classes", ())),
    }


# What a user does with a mapping: export, name and note, delete.


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


def mapping_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a mapping."""
    return edit_page(request, get_object_or_404(PortMapping, pk=pk), "mapping", "mappings")


def mapping_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a mapping, after saying what depends on it."""
    return delete_page(request, get_object_or_404(PortMapping, pk=pk), "mapping", "mappings")


urlpatterns = [
    path("mappings/<int:pk>/", mapping, name="mapping"),
    path("mappings/<int:pk>/export/", mapping_export, name="mapping-export"),
    path("mappings/<int:pk>/edit/", mapping_edit, name="mapping-edit"),
    path("mappings/<int:pk>/delete/", mapping_delete, name="mapping-delete"),
    *listing.urlpatterns,
]
