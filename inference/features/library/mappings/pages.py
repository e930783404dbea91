"""A mapping's page with the tab that its address names, and what a user does with the mapping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.core.experiment import Experiment
from inference.core.hidden_uops import HiddenUops, hidden_in, hidden_kinds
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops
from inference.core.measured_slots import MeasuredSlots, SlotReading
from inference.core.predicting import MappingPredictor
from inference.core.throughput import inverse_throughput
from inference.features.asking.blocks.query import load_of
from inference.features.asking.blocks.shown import load_context
from inference.features.judging.comparing.pages import compare_tab
from inference.features.judging.congruence.pages import classes_tab
from inference.features.judging.doubts.pages import doubts_tab
from inference.features.judging.evaluations.pages import accuracy_tab, start_evaluation
from inference.features.judging.excess.pages import excess_tab
from inference.features.learning.explained.pages import explained_tab
from inference.features.learning.explained.query import is_explained
from inference.features.learning.inferring.counter_examples import found_mapping
from inference.features.learning.inferring.evolution import front_tab
from inference.features.learning.inferring.query import StoredFront, front_of
from inference.features.library.experiments.query import Singleton, measured_singletons, sets_with_singletons
from inference.features.library.mappings import listing
from inference.features.library.mappings.checked import Check, Checks
from inference.features.library.mappings.graph import graph_tab
from inference.features.library.mappings.listing import evaluation_url, source_label
from inference.features.library.mappings.query import measured_slots_of
from inference.formats.exporting import MAPPING_EXPORTS
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.search import SearchError
from inference.isa.x86.blocks import Block, BlockError, Piece, piece_of, read
from inference.models import InstructionScheme, PortMapping
from inference.models.scheme_search import FIT, by_fit, search_schemes
from inference.storage.errors import ExchangeError
from inference.storage.evaluations import evaluations_of
from inference.storage.evidence import KEY
from inference.storage.instruction_sets import AARCH64, X86
from inference.storage.judging import grounds_of
from inference.storage.rows import load_mapping
from inference.web.naming import delete_page, edit_page
from inference.web.offers import offers_for
from inference.web.paging import Order, Page, page_in_memory
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


# The view of a mapping in which a loop is tried: predicted cycles and the load of the ports, at once.


MOST_CODE = 3000
"""Characters of a loop: it travels in the address."""

MOST_PIECES = 100
"""Loops and straight pieces of a text that there is a choice of."""

TIE = 1e-9
"""Cycles by which loads that count as equal may differ."""


def suits(row: PortMapping) -> bool:
    """Whether loops of the mapping's instruction set can be read, or why not can be said."""
    return row.isa.name in (X86, AARCH64)


def loop_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The loop in the address (`code`), decoded, and what its µops take up of each port (one query)."""
    del value  # only the µops of the loop's own schemes are needed
    code = request.GET.get("code", "").strip()
    context: dict[str, Any] = {"code": code, "most_code": MOST_CODE}
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        return {**context, "obstacle": obstacle, "error": obstacle if code else ""}
    if not code:
        return context
    if len(code) > MOST_CODE:
        error = f"The loop has {len(code):,} characters; up to {MOST_CODE:,} are read"
        return {**context, "code": "", "error": error}
    try:
        reading = read(code, MOST_PIECES)
        pieces = reading.pieces
        chosen = _chosen(pieces, request.GET.get("piece", ""))
    except BlockError as problem:
        return {**context, "error": f"Nothing was decoded: {problem}"}
    everybody = f"{reverse('blocks')}?{urlencode({'code': code})}"
    return {
        **context,
        **_predicted(chosen.block, row),
        "block_page": everybody,
        "pieces": pieces if len(pieces) > 1 else (),
        "piece": chosen,
        "dropped": reading.dropped,
    }


def _chosen(pieces: Sequence[Piece], wanted: str) -> Piece:
    """The piece of this name or number; at first the first loop or piece. Raises `BlockError`."""
    if wanted:
        return piece_of(pieces, wanted)
    return next((piece for piece in pieces if piece.block.closing is not None), pieces[0])


def _predicted(block: Block, row: PortMapping) -> dict[str, Any]:
    load = load_of(block, row)
    if load is None:
        return {"undescribed": True}
    cycles, loads = load.schedule.cycles, load.schedule.loads
    fullest = max(loads, default=0.0)
    full = [(name, bit) for bit, name in enumerate(row.ports) if fullest and loads[bit] > fullest - TIE]
    ipc = len(block.listing) / cycles if cycles else None
    return {**load_context(block, load), "full_ports": full, "ipc": ipc}


# A mapping's page: facts, and one of several views chosen by `?tab=`.


Context = dict[str, Any]


@dataclass(frozen=True)
class MappingTab:
    """A view of a mapping: its label, its template and what that needs, and the scripts it runs."""

    label: str
    template: str
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

TABS: dict[str, MappingTab] = {
    "graph": MappingTab("Graph", "inference/mappings/graph.html", graph_tab, ("js/graph.js",)),
    "accuracy": MappingTab(
        "Accuracy", "inference/evaluations/accuracy.html", _accuracy, ("js/heatmap.js", "js/figures.js")
    ),
    "schemes": MappingTab("Schemes", "inference/mappings/schemes.html", schemes_tab),
    LOOP: MappingTab("Try a loop", "inference/mappings/loop.html", loop_tab, ("js/buckets.js",)),
    "compare": MappingTab("Compare", "inference/comparing/compare.html", compare_tab),
    "doubts": MappingTab("Doubts", "inference/doubts/tab.html", doubts_tab),
    "excess": MappingTab("Excess", "inference/excess/tab.html", excess_tab),
    FRONT: MappingTab("Front", "inference/inferring/front.html", front_tab, ("js/front.js",)),
    CLASSES: MappingTab("Classes", "inference/inferring/classes.html", classes_tab),
    EVIDENCE: MappingTab("Evidence", "inference/inferring/evidence.html", _evidence),
    EXPLAINED: MappingTab("Explained", "inference/explained/tab.html", explained_tab),
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
        "tab_template": tab.template,
        "scripts": tab.scripts,
        "exports": [(name, each) for name, each in MAPPING_EXPORTS.items() if each.describes(found.isa.name)],
        "offers": offers_for(found),
        "most_accurate": _most_accurate(found, front),
        "picked_from": None if front is None or front.owner.pk == found.pk else front,
        **tab.context(request, found, value),
    }
    return render(
        request, "inference/mappings/mapping.html", context, status=400 if context.get("error") else 200
    )


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


# What a user does with a mapping: export, evaluate, name and note, delete.


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
    path("mappings/<int:pk>/", mapping, name="mapping"),
    path("mappings/<int:pk>/export/", mapping_export, name="mapping-export"),
    path("mappings/<int:pk>/evaluate/", mapping_evaluate, name="mapping-evaluate"),
    path("mappings/<int:pk>/edit/", mapping_edit, name="mapping-edit"),
    path("mappings/<int:pk>/delete/", mapping_delete, name="mapping-delete"),
    *listing.urlpatterns,
]
