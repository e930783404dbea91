"""The doubts of a mapping: what is ambiguous, excluded, badly predicted or in conflict; what would decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.core.doubting import LABELS, Doubt, DoubtKind
from inference.core.mapping import PortMapping as Value
from inference.features.judging.doubts.evidence import REPEATS, DoubtDecision
from inference.features.judging.doubts.query import DoubtsOf, ask
from inference.features.judging.doubts.request import NONE, DoubtsRequest
from inference.features.learning.explained.query import is_explained
from inference.features.learning.explained.remeasuring import means_of, measure_listed, posted_number
from inference.features.learning.inferring.counter_examples import experiment_url
from inference.features.library.mappings.query import comparable
from inference.isa.search import SearchError
from inference.models import InstructionScheme, Machine, PortMapping
from inference.storage.evidence import KEY as SEARCHED
from inference.storage.rows import ids_of_schemes
from inference.web.file_answers import file_answer
from inference.web.listed_mappings import source_label
from inference.web.paging import Order, page_in_memory
from inference.web.requests import whole_number
from inference.web.validation import RequestError, read

PAGE = 25
NAMES = {"other": "with", "evaluation": "by"}
"""What the address calls fields of the request."""

COLUMNS: dict[str, Callable[[Doubt], Any]] = {"text": lambda doubt: doubt.scheme}


@dataclass(frozen=True)
class DoubtRow:
    """A doubt with its scheme's number, the page of its evidence, and what would decide it."""

    doubt: Doubt
    pk: int | None
    evidence: str
    evidence_label: str
    decision: DoubtDecision | None
    decision_url: str

    @property
    def label(self) -> str:
        return LABELS[self.doubt.kind]


def doubts_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """A page of the doubts, searched with the syntax of the instruction set's page."""
    asked = read(DoubtsRequest, request.GET, NAMES)
    error = ""
    try:
        found = _ask(row, asked, value)
    except SearchError as refused:
        error = str(refused)
        found = _ask(row, asked.model_copy(update={"q": ""}), value)
    sort = request.GET.get("sort", "")
    context: dict[str, Any] = {
        "kinds": [(each.value, LABELS[each], found.doubts.counts[each]) for each in DoubtKind],
        "kind": asked.kind or "",
        "q": asked.q,
        "sort": sort,
        "other": found.other,
        "candidates": list(comparable(row).only("pk", "name")),
        "evaluation": found.evaluation,
        "evaluations": [(each.pk, source_label(each)) for each in found.evaluations],
        "over": f"{asked.over:g}",
        "ports": found.doubts.ports,
        "total": len(found.doubts.rows),
        "means": means_of(row),
        "csv_url": f"{reverse('mapping-doubts-csv', args=[row.pk])}?{urlencode(_address(found, asked))}",
        "page": page_in_memory((), 0, PAGE),
    }
    if error:
        return {**context, "error": error}
    listed = list(found.listed)
    if sort.removeprefix("-") in COLUMNS:
        order = Order.read(sort, {key: key for key in COLUMNS}, "text")
        listed.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(listed, whole_number(request, "page", 0) or 0, PAGE)
    return {**context, "page": page, "rows": _rows(found, page.rows)}


def _address(found: DoubtsOf, asked: DoubtsRequest) -> dict[str, Any]:
    """What is asked for, as parameters of an address, with what was usual named."""
    address: dict[str, Any] = {"with": NONE if found.other is None else found.other.pk}
    if found.evaluation is not None:
        address |= {"by": found.evaluation.pk, "over": f"{asked.over:g}"}
    return {**address, "kind": asked.kind.value} if asked.kind else address


def _rows(found: DoubtsOf, doubts: Sequence[Doubt]) -> list[DoubtRow]:
    row = found.row
    ids = ids_of_schemes(row.isa_id, [each.scheme for each in doubts])
    decided = found.decisions(doubts)
    explained = is_explained(row)
    rows = []
    for doubt in doubts:
        pk = ids.get(doubt.scheme)
        label, url = _evidence(found, doubt, pk, explained=explained)
        decision = decided.get(doubt)
        experiment = None if decision is None else decision.distinction.experiment
        decision_url = "" if experiment is None else experiment_url(experiment, row.isa, row)
        rows.append(DoubtRow(doubt, pk, url, label, decision, decision_url))
    return rows


def _evidence(found: DoubtsOf, doubt: Doubt, pk: int | None, *, explained: bool) -> tuple[str, str]:
    """(what it is called, its address); ("", "") where there is nothing to look at."""
    page = reverse("mapping", args=[found.row.pk])
    if doubt.kind is DoubtKind.CONFLICT and doubt.others and found.other is not None:
        query: dict[str, Any] = {"tab": "compare", "with": found.other.pk, "q": f'"{doubt.scheme}"'}
        return "side by side", f"{page}?{urlencode(query)}"
    if pk is None:
        return "", ""
    if doubt.kind is DoubtKind.MISPREDICTED and found.evaluation is not None:
        source = found.evaluation.experiment_set_id or "held-out"
        query = {"tab": "accuracy", "set": source, "unit": found.evaluation.unit, "scheme": pk}
        return "its experiments", f"{page}?{urlencode(query)}"
    if explained:
        return "its witnesses", reverse("scheme-proof", args=[found.row.pk, pk])
    return ("the search", f"{page}?tab=evidence") if SEARCHED in found.row.report else ("", "")


def mapping_doubts_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """All doubts as a file, or those of one `kind`."""
    found = _ask(_mapping(pk), read(DoubtsRequest, request.GET, NAMES))
    return file_answer(found.csv, "text/csv", f"{found.row.name} doubts", "csv")


@require_POST
def mapping_doubts_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Measure what speaks for a doubt again, or what would decide it: `ask` is "again" or "decide", the kind
    and the scheme's number, joined by colons.
    """
    asked = read(DoubtsRequest, request.POST, NAMES)
    found = _ask(_mapping(pk), asked)
    back = f"{reverse('mapping', args=[pk])}?{urlencode({'tab': 'doubts', **_address(found, asked)})}"
    if "machine" not in request.POST:
        messages.error(request, f"Nothing was measured: no machine of {found.row.isa.name} is connected.")
        return redirect(back)
    machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=found.row.isa_id)
    wanted, doubt = _wanted(request, found)
    if wanted == "decide":
        decision = found.decisions([doubt]).get(doubt)
        if decision is None:
            raise Http404("no short experiment decides this doubt")
        experiments = [decision.distinction.experiment]
    else:
        experiments = found.again(doubt)
    what = "what decides" if wanted == "decide" else LABELS[doubt.kind]
    run = measure_listed(request, machine, experiments, REPEATS, f"{doubt.scheme[:100]}: {what}, measured")
    return redirect(back) if run is None else redirect("run", run.pk)


def _wanted(request: HttpRequest, found: DoubtsOf) -> tuple[str, Doubt]:
    """What is to be measured, and for which doubt. Raises `BadRequest`, `Http404`."""
    wanted, _, rest = request.POST.get("ask", "").partition(":")
    kind, _, number = rest.partition(":")
    if wanted not in ("again", "decide") or kind not in tuple(DoubtKind) or not number.isdecimal():
        raise BadRequest("ask must be again or decide, a kind of doubt and the number of a scheme")
    scheme = get_object_or_404(InstructionScheme, pk=int(number[:18]), isa=found.row.isa_id)
    doubt = found.find(kind, scheme.text)
    if doubt is None:
        raise Http404(f"nothing of this kind is doubtful in {scheme.text}")
    return wanted, doubt


def _ask(row: PortMapping, asked: DoubtsRequest, value: Value | None = None) -> DoubtsOf:
    try:
        return ask(row, asked, value)
    except RequestError as error:
        raise error.named(NAMES) from error


def _mapping(pk: int) -> PortMapping:
    return get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)


urlpatterns = [
    path("mappings/<int:pk>/doubts.csv", mapping_doubts_csv, name="mapping-doubts-csv"),
    path("mappings/<int:pk>/doubts/", mapping_doubts_measure, name="mapping-doubts-measure"),
]
