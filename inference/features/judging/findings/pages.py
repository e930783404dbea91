"""Pages of what is questionable: tabs of a mapping, the matrix of a set, files, buttons that measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.core.doubting import LABELS, Doubt, DoubtKind, Doubts
from inference.core.mapping import PortMapping as Value
from inference.core.misfits import LEAST
from inference.features.judging.engine.excess_view import MOST, excess_in, excess_table, sets_for
from inference.features.judging.engine.tables import Buttons, LinkedText, code, csv_of, page_cells
from inference.features.judging.findings.conflicts import (
    SetConflicts,
    conflicts_in,
    pairs_table,
)
from inference.features.judging.findings.congruence import congruence_of
from inference.features.judging.findings.doubts import DoubtsOf, ask, doubts_table
from inference.features.judging.findings.evidence import Remeasurement
from inference.features.judging.findings.request import NONE, ConflictsBy, ConflictsRequest, DoubtsRequest
from inference.features.learning.explained.query import is_explained
from inference.features.learning.explained.remeasuring import means_of
from inference.features.learning.inferring.cegar_page import experiment_url
from inference.features.learning.inferring.classes_section import FEW_COMPARED, classes_context
from inference.features.library.mappings.query import comparable
from inference.figures.conflicts import conflict_figure
from inference.isa.search import SearchError
from inference.models import ExperimentSet, InstructionScheme, PortMapping
from inference.storage.evidence import KEY as SEARCHED
from inference.storage.rows import ids_of_schemes
from inference.web.file_answers import file_answer, table_answer
from inference.web.listed_mappings import source_label
from inference.web.paging import page_in_memory
from inference.web.validation import RequestError, read, whole_number

PAGE = 25
GROUPS = 25
PAIRS = 60
"""Pairs of a scheme, or of two classes, that are listed."""
NAMES = {"other": "with", "evaluation": "by"}
"""What the address calls fields of the request."""


def doubts_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """A page of the doubts, searched with the syntax of the instruction set's page."""
    asked = read(DoubtsRequest, request.GET, NAMES)
    error = ""
    try:
        found = _ask(row, asked, value)
    except SearchError as refused:
        error = str(refused)
        found = replace(_ask(row, asked.model_copy(update={"q": ""}), value), listed=())
    counts = found.doubts.counts
    by_scheme = {"text": False, "-text": True}.get(request.GET.get("sort", ""))
    if by_scheme is not None:
        in_order = sorted(found.listed, key=lambda doubt: doubt.scheme, reverse=by_scheme)
        found = replace(found, listed=tuple(in_order))
    number = whole_number(request, "page", 0) or 0
    return {
        "kinds": [(kind.value, LABELS[kind], counts[kind]) for kind in DoubtKind],
        "choices": [(kind.value, f"{LABELS[kind]} ({counts[kind]:,})") for kind in DoubtKind],
        "asked": asked,
        "q": asked.q,
        "sort": request.GET.get("sort", ""),
        "orders": [("text", "by scheme"), ("-text", "by scheme, backwards")],
        "other": found.other,
        "candidates": [(NONE, NONE), *comparable(row).values_list("pk", "name")],
        "evaluation": found.evaluation,
        "evaluations": [(evaluation.pk, source_label(evaluation)) for evaluation in found.evaluations],
        "total": len(found.doubts.rows),
        "means": means_of(row),
        "csv_url": f"{reverse('mapping-doubts-csv', args=[row.pk])}?{urlencode(_address(found, asked))}",
        "error": error,
        "posted": _address(found, asked),
        **_doubts_page(found, number),
    }


def _address(found: DoubtsOf, asked: DoubtsRequest) -> dict[str, Any]:
    """What is asked for, as parameters of an address, with what was usual named."""
    address: dict[str, Any] = {"with": NONE if found.other is None else found.other.pk}
    if found.evaluation is not None:
        address |= {"by": found.evaluation.pk, "over": f"{asked.over:g}"}
    return {**address, "kind": asked.kind.value} if asked.kind else address


def _doubts_page(found: DoubtsOf, number: int) -> dict[str, Any]:
    """The rows of a page, linked to their evidence, with what would decide and what can be measured."""
    row = found.row
    page = page_in_memory(found.listed, number, PAGE)
    ids = ids_of_schemes(row.isa_id, [doubt.scheme for doubt in page.rows])
    decided = found.decisions(page.rows)
    explained = is_explained(row)

    def scheme(doubt: Doubt) -> LinkedText:
        pk = ids.get(doubt.scheme)
        return LinkedText(doubt.scheme, reverse("scheme", args=[pk]) if pk else "")

    def why(doubt: Doubt) -> LinkedText:
        label, url = _evidence(found, doubt, ids.get(doubt.scheme), explained=explained)
        return LinkedText(doubt.words, url, label=label)

    def decides(doubt: Doubt) -> LinkedText:
        if doubt not in decided:
            undecided = "no short experiment distinguishes these µops"
            return LinkedText("", note=undecided if doubt.others and doubt.here else "measuring it again")
        experiment = decided[doubt].distinction.experiment
        words = decided[doubt].in_words("there" if doubt.kind is DoubtKind.CONFLICT else "otherwise")
        return LinkedText(str(experiment), experiment_url(experiment, row.isa, row), note=words)

    def buttons(doubt: Doubt) -> Buttons:
        wishes = [("again", "Measure again"), ("decide", "Measure deciding experiment")]
        pk = ids.get(doubt.scheme)
        return [
            (f"{wish}:{doubt.kind}:{pk}", label)
            for wish, label in wishes
            if pk and (wish == "again" or doubt in decided)
        ]

    doubts = Doubts(tuple(page.rows), found.doubts.ports)
    table = doubts_table(doubts, (code("deciding experiment"), decides), scheme=scheme, why=why)
    return {**page_cells(table, list(map(buttons, page.rows))), "page": page}


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
    wish, _, rest = request.POST.get("ask", "").partition(":")
    kind, _, number = rest.partition(":")
    if wish not in ("again", "decide") or kind not in tuple(DoubtKind) or not number.isdecimal():
        raise BadRequest("ask must be again or decide, a kind of doubt and the number of a scheme")
    scheme = get_object_or_404(InstructionScheme, pk=int(number[:18]), isa=found.row.isa_id)
    return found.remeasurement(kind, scheme.text, decides=wish == "decide").from_page(request, back)


def _ask(row: PortMapping, asked: DoubtsRequest, value: Value | None = None) -> DoubtsOf:
    try:
        return ask(row, asked, value)
    except RequestError as error:
        raise error.named(NAMES) from error


def _mapping(pk: int) -> PortMapping:
    return get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)


def excess_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """The groups of experiments in one set; the address may name it."""
    sets = sets_for(row)
    number = whole_number(request, "set")
    chosen = sets[0] if sets else None
    if number is not None:
        chosen = get_object_or_404(ExperimentSet, pk=number, isa_id=row.isa_id)
    context: dict[str, Any] = {"sets": sets, "chosen": chosen, "least": LEAST, "most": MOST}
    if chosen is None:
        return context
    found = excess_in(row, chosen)
    table = excess_table(
        found,
        value.ports,
        "measured, cycles",
        f"{row.name}, cycles",
        lambda experiment: experiment_url(experiment, row.isa, row),
    )
    return {**context, "excess": found, **page_cells(replace(table, rows=table.rows[:GROUPS]))}


def classes_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """The classes that the mapping's run found, and how many members few experiments were compared for."""
    found = congruence_of(row)
    return {
        **classes_context(request, found.classes, row.isa, value, likeness=found.likeness),
        "weak": found.weak,
        "missing": found.pairs,
        "few": FEW_COMPARED,
        "means": means_of(row) if found.pairs else None,
    }


TABS = {"doubts": doubts_tab, "excess": excess_tab, "classes": classes_tab}
"""{name of a panel of a mapping: its context}."""


@require_POST
def mapping_classes_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Measure the missing pairs on a machine, and show the run."""
    row = _mapping(pk)
    back = f"{reverse('mapping', args=[pk])}?tab=classes"
    pairs = congruence_of(row).pairs
    if not pairs:
        messages.error(request, "Nothing was measured: no pair is missing.")
        return redirect(back)
    return Remeasurement(row, pairs, 1, f"{row.name[:100]}: pairs for its classes").from_page(request, back)


def set_conflicts(request: HttpRequest, pk: int) -> HttpResponse:
    """The matrix, and the experiments behind the cell or the row that the address names."""
    row = get_object_or_404(ExperimentSet.objects.select_related("isa", "machine"), pk=pk)
    asked = read(ConflictsRequest, request.GET)
    context: dict[str, Any] = {"set": row, "asked": asked, "by": [by.value for by in ConflictsBy]}
    try:
        context |= _conflicts_context(request, conflicts_in(row, asked), asked.by)
    except SearchError as error:
        context["error"] = str(error)
    status = 400 if "error" in context else 200
    return render(request, "inference/findings/conflicts.html", context, status=status)


def set_conflicts_csv(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=pk)
    try:
        pairs = conflicts_in(row, read(ConflictsRequest, request.GET)).all_pairs()
    except SearchError as error:
        raise Http404(str(error)) from error
    return table_answer(csv_of(pairs_table(pairs)), f"{row.name} conflicts", **{"experiment set": row.name})


NumberedSchemes = Sequence[tuple[int, str]]
"""The schemes of a row of the matrix, or of a class, each with the number of its row in the database."""


def _conflicts_context(request: HttpRequest, found: SetConflicts, by: ConflictsBy) -> dict[str, Any]:
    def numbered(members: Sequence[Sequence[str]]) -> list[NumberedSchemes]:
        return [[(found.ids[text], text) for text in schemes] for schemes in members]

    members, shares = found.rows(by)
    rows, classes = numbered(members), numbered(found.matrix.classes)
    labels = [f"{first} + {len(more)}" if more else first for first, *more in members]
    figure = {
        "figure": conflict_figure(labels, shares),
        "ids": [schemes[0][0] for schemes in rows],
        # Rows of each class, one after the other.
        "sizes": [1] * len(rows) if len(rows) == len(classes) else list(map(len, classes)),
    }
    return {
        "conflicts": found,
        "pairs": len(found.conflicts.pairs),
        "members": rows,
        "classes": classes,
        "figure": figure,
        **_chosen_pairs(request, found, rows),
    }


def _chosen_pairs(
    request: HttpRequest, found: SetConflicts, rows: Sequence[NumberedSchemes]
) -> dict[str, Any]:
    """The pairs of the row, or of the cell of two rows, that the address names by a scheme of each."""
    first, second = (_row(rows, whole_number(request, name)) for name in ("first", "second"))
    if first is None:
        return {}
    if second is None or (second == first and len(first) == 1):
        pairs, second = found.pairs_of(first[0][1]), None
    else:
        pairs = found.pairs_between(*([text for _, text in schemes] for schemes in (first, second)))
    cells = page_cells(pairs_table(pairs[:PAIRS]))
    return {"first": first, "second": second, "total": len(pairs), **cells}


def _row(rows: Sequence[NumberedSchemes], scheme: int | None) -> NumberedSchemes | None:
    if scheme is None:
        return None
    for schemes in rows:
        if scheme in dict(schemes):
            return schemes
    raise Http404(f"scheme {scheme} is in no pair of this matrix")


urlpatterns = [
    path("mappings/<int:pk>/doubts.csv", mapping_doubts_csv, name="mapping-doubts-csv"),
    path("mappings/<int:pk>/doubts/", mapping_doubts_measure, name="mapping-doubts-measure"),
    path("mappings/<int:pk>/classes/", mapping_classes_measure, name="mapping-classes-measure"),
    path("sets/<int:pk>/conflicts/", set_conflicts, name="set-conflicts"),
    path("sets/<int:pk>/conflicts/csv/", set_conflicts_csv, name="set-conflicts-csv"),
]
