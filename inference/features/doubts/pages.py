"""The doubts of a mapping: what is ambiguous, excluded, badly predicted or in conflict; what would decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.core.doubting import LABELS, Doubt, DoubtKind, Doubts
from inference.core.mapping import PortMapping as Value
from inference.features.comparing.query import comparable
from inference.features.doubts.query import (
    REPEATS,
    USUAL_ERROR,
    Decision,
    again,
    decisions,
    doubts_head,
    doubts_of,
    usual_other,
    write_doubts_csv,
)
from inference.features.evaluations.query import evaluations_of
from inference.features.explained.pages import means_of, measure_listed, posted_number
from inference.features.explained.query import is_explained
from inference.features.inferring.counter_examples import experiment_url
from inference.features.mappings.listing import source_label
from inference.isa.search import SearchError
from inference.models import Evaluation, InstructionScheme, Machine, PortMapping
from inference.models.scheme_search import texts_found
from inference.storage.evidence import KEY as SEARCHED
from inference.storage.rows import ids_of_schemes
from inference.web.paging import Order, page_in_memory
from inference.web.requests import file_answer, one_of, whole_number

PAGE = 25
NOTHING = "none"
"""In the address: held against no other mapping."""

MOST_PER_CENT = 10_000
COLUMNS: dict[str, Callable[[Doubt], Any]] = {"text": lambda doubt: doubt.scheme}


@dataclass(frozen=True)
class DoubtsRequest:
    """What the address asks for: held against which mapping, judged by which evaluation, above how many per
    cent of error a scheme counts as badly predicted.
    """

    other: PortMapping | None
    evaluation: Evaluation | None
    over: float


@dataclass(frozen=True)
class DoubtRow:
    """A doubt with its scheme's number, the page of its evidence, and what would decide it."""

    doubt: Doubt
    pk: int | None
    evidence: str
    evidence_label: str
    decision: Decision | None
    decision_url: str

    @property
    def label(self) -> str:
        """Its kind in words."""
        return LABELS[self.doubt.kind]


def doubts_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """A page of the doubts, searched with the syntax of the instruction set's page."""
    evaluations = list(evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES))
    asked = _asked(request.GET, row, evaluations)
    doubts = doubts_of(row, asked.other, asked.evaluation, asked.over, value)
    kind = one_of(request, "kind", tuple(DoubtKind))
    q = request.GET.get("q", "").strip()
    sort = request.GET.get("sort", "")
    means = means_of(row)
    context: dict[str, Any] = {
        "kinds": [(each.value, LABELS[each], doubts.counts[each]) for each in DoubtKind],
        "kind": kind,
        "q": q,
        "sort": sort,
        "other": asked.other,
        "candidates": list(comparable(row).only("pk", "name")),
        "evaluation": asked.evaluation,
        "evaluations": [(each.pk, source_label(each)) for each in evaluations],
        "over": f"{asked.over:g}",
        "ports": doubts.ports,
        "total": len(doubts.rows),
        "means": means,
        "csv_url": f"{reverse('mapping-doubts-csv', args=[row.pk])}?{urlencode(_address(asked, kind))}",
        "page": page_in_memory((), 0, PAGE),
    }
    try:
        found = _chosen(doubts.rows, row, kind, q)
    except SearchError as error:
        return {**context, "error": str(error)}
    if sort.removeprefix("-") in COLUMNS:
        order = Order.read(sort, {key: key for key in COLUMNS}, "text")
        found.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(found, whole_number(request, "page", 0) or 0, PAGE)
    return {**context, "page": page, "rows": _rows(row, asked, page.rows)}


def _asked(given: Mapping[str, str], row: PortMapping, evaluations: Iterable[Evaluation]) -> DoubtsRequest:
    """`with` is the number of a mapping or "none", `by` that of an evaluation, `over` is in per cent."""
    return DoubtsRequest(_other(given.get("with", ""), row), _evaluation(given, evaluations), _over(given))


def _other(text: str, row: PortMapping) -> PortMapping | None:
    if not text:
        return usual_other(row)
    if text == NOTHING:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise BadRequest(f"with must be the number of a mapping, or {NOTHING}, not {text[:40]!r}")
    other = get_object_or_404(PortMapping.objects.select_related("isa"), pk=int(text))
    if other.isa_id != row.isa_id:
        raise BadRequest(f"{other.name!r} describes {other.isa.name}, not {row.isa.name}: nothing to compare")
    return other


def _evaluation(given: Mapping[str, str], evaluations: Iterable[Evaluation]) -> Evaluation | None:
    known = {str(each.pk): each for each in evaluations}
    wanted = given.get("by", "")
    if wanted and wanted not in known:
        raise BadRequest(f"by must be the number of an evaluation of this mapping, not {wanted[:40]!r}")
    return known[wanted] if wanted else next(iter(known.values()), None)


def _over(given: Mapping[str, str]) -> float:
    text = given.get("over", "")
    if not text:
        return USUAL_ERROR
    if not text.replace(".", "", 1).isdecimal() or not 0 <= float(text) <= MOST_PER_CENT:
        raise BadRequest(f"over must be a number of per cent from 0 to {MOST_PER_CENT:,}, not {text[:40]!r}")
    return float(text)


def _address(asked: DoubtsRequest, kind: str) -> dict[str, object]:
    """What is asked for, as parameters of an address."""
    address: dict[str, object] = {"with": NOTHING if asked.other is None else asked.other.pk}
    if asked.evaluation is not None:
        address |= {"by": asked.evaluation.pk, "over": f"{asked.over:g}"}
    return {**address, "kind": kind} if kind else address


def _chosen(doubts: Iterable[Doubt], row: PortMapping, kind: str, q: str) -> list[Doubt]:
    found = [each for each in doubts if not kind or each.kind == kind]
    if not q:
        return found
    texts = texts_found(row.isa_id, q)
    return [each for each in found if each.scheme in texts]


def _rows(row: PortMapping, asked: DoubtsRequest, doubts: Iterable[Doubt]) -> list[DoubtRow]:
    shown = list(doubts)
    texts = [each.scheme for each in shown]
    ids = ids_of_schemes(row.isa_id, texts)
    decided = decisions(row, asked.other, shown)
    explained = is_explained(row)
    found = []
    for doubt in shown:
        pk = ids.get(doubt.scheme)
        label, url = _evidence(row, asked, doubt, pk, explained=explained)
        decision = decided.get(doubt)
        experiment = None if decision is None else decision.distinction.experiment
        decision_url = "" if experiment is None else experiment_url(experiment, row.isa, row)
        found.append(DoubtRow(doubt, pk, url, label, decision, decision_url))
    return found


def _evidence(
    row: PortMapping, asked: DoubtsRequest, doubt: Doubt, pk: int | None, *, explained: bool
) -> tuple[str, str]:
    """(what it is called, its address); ("", "") where there is nothing to look at."""
    page = reverse("mapping", args=[row.pk])
    if doubt.kind is DoubtKind.CONFLICT and asked.other is not None:
        query = {"tab": "compare", "with": asked.other.pk, "q": f'"{doubt.scheme}"'}
        return "side by side", f"{page}?{urlencode(query)}"
    if pk is None:
        return "", ""
    if doubt.kind is DoubtKind.MISPREDICTED and asked.evaluation is not None:
        source = asked.evaluation.experiment_set_id or "held-out"
        query = {"tab": "accuracy", "set": source, "unit": asked.evaluation.unit, "scheme": pk}
        return "its experiments", f"{page}?{urlencode(query)}"
    if explained:
        return "its witnesses", reverse("scheme-proof", args=[row.pk, pk])
    return ("the search", f"{page}?tab=evidence") if SEARCHED in row.report else ("", "")


def mapping_doubts_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """All doubts as a file, or those of one `kind`."""
    row = get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)
    evaluations = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES)
    asked = _asked(request.GET, row, evaluations)
    doubts = doubts_of(row, asked.other, asked.evaluation, asked.over)
    kind = one_of(request, "kind", tuple(DoubtKind))
    rows = [each for each in doubts.rows if not kind or each.kind == kind]
    return file_answer(
        write_doubts_csv(Doubts(tuple(rows), doubts.ports), doubts_head(row, asked.other)),
        "text/csv",
        f"{row.name} doubts",
        "csv",
    )


@require_POST
def mapping_doubts_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Measure what speaks for a doubt again, or what would decide it: `ask` is "again" or "decide", the kind
    and the scheme's number, joined by colons.
    """
    row = get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)
    evaluations = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES)
    asked = _asked(request.POST, row, evaluations)
    back = f"{reverse('mapping', args=[row.pk])}?{urlencode({'tab': 'doubts', **_address(asked, '')})}"
    if "machine" not in request.POST:
        messages.error(request, f"Nothing was measured: no machine of {row.isa.name} is connected.")
        return redirect(back)
    machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=row.isa_id)
    wish, doubt = _wish(request, row, asked)
    if wish == "decide":
        decision = decisions(row, asked.other, [doubt]).get(doubt)
        if decision is None:
            raise Http404("no short experiment decides this doubt")
        experiments = [decision.distinction.experiment]
    else:
        experiments = again(row, doubt, asked.other, asked.evaluation)
    what = "what decides" if wish == "decide" else LABELS[doubt.kind]
    run = measure_listed(request, machine, experiments, REPEATS, f"{doubt.scheme[:100]}: {what}, measured")
    return redirect(back) if run is None else redirect("run", run.pk)


def _wish(request: HttpRequest, row: PortMapping, asked: DoubtsRequest) -> tuple[str, Doubt]:
    """What is to be measured, and for which doubt. Raises `BadRequest`, `Http404`."""
    wish, _, rest = request.POST.get("ask", "").partition(":")
    kind, _, number = rest.partition(":")
    if wish not in ("again", "decide") or kind not in tuple(DoubtKind) or not number.isdecimal():
        raise BadRequest("ask must be again or decide, a kind of doubt and the number of a scheme")
    scheme = get_object_or_404(InstructionScheme, pk=int(number[:18]), isa=row.isa_id)
    doubts = doubts_of(row, asked.other, asked.evaluation, asked.over).of(scheme.text)
    found = next((each for each in doubts if each.kind == kind), None)
    if found is None:
        raise Http404(f"nothing of this kind is doubtful in {scheme.text}")
    return wish, found


urlpatterns = [
    path("mappings/<int:pk>/doubts.csv", mapping_doubts_csv, name="mapping-doubts-csv"),
    path("mappings/<int:pk>/doubts/", mapping_doubts_measure, name="mapping-doubts-measure"),
]
