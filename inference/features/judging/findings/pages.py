"""Tabs of a mapping: doubts, excess and classes, with a CSV file and buttons that measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.core.judging.accuracy import scores_judgement
from inference.core.mapping import PortMapping as Value
from inference.core.mapping import ports_in
from inference.core.metrics import Scores
from inference.core.misfits import LABELS, MIN_EXCESS, Doubt, DoubtKind, Doubts, Excess, ExcessGroup
from inference.features.judging.engine.excess_view import MAX_ITEMS, excess_in, excess_table, sets_for
from inference.features.judging.engine.tables import Buttons, LinkedText, code, page_cells
from inference.features.judging.findings.congruence import congruence_of
from inference.features.judging.findings.doubts import MappingDoubts, doubts_table, requested_doubts
from inference.features.judging.findings.evidence import Remeasurement
from inference.features.judging.findings.request import NONE, DoubtsRequest
from inference.features.learning.explained.query import is_explained
from inference.features.learning.explained.remeasuring import machine_options
from inference.features.learning.inferring.cegar_page import experiment_url
from inference.features.learning.inferring.classes_section import FEW_COMPARED, classes_context
from inference.features.library.mappings.query import MappingSubject, comparable
from inference.isa.search import SearchError
from inference.isa.targets import target_of
from inference.models import ExperimentSet, InstructionScheme, PortMapping
from inference.storage.evaluations import other_core
from inference.storage.evidence import KEY as SEARCHED
from inference.storage.rows import ids_of_schemes
from inference.web.contributions import Context, MenuEntry, MenuPlace, PagePanel, PanelPlace
from inference.web.file_answers import file_answer
from inference.web.listed_mappings import source_label
from inference.web.paging import page_in_memory
from inference.web.validation import RequestError, number_parameter, read

PAGE_SIZE = 25
MAX_GROUPS = 25
MAX_BARS = 8
"""Groups in the picture; the table has more."""
ADDRESS_NAMES = {"other": "with", "evaluation": "by"}
"""{field of the request: its parameter in the address}."""


def doubts_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """The context of the tab of doubts, which is searched like the scheme table."""
    doubts_request = read(DoubtsRequest, request.GET, ADDRESS_NAMES)
    error = ""
    try:
        mapping_doubts = _requested_doubts(row, doubts_request, value)
    except SearchError as search_error:
        error = str(search_error)
        mapping_doubts = replace(
            _requested_doubts(row, doubts_request.model_copy(update={"q": ""}), value), listed=()
        )
    counts = mapping_doubts.doubts.counts
    by_scheme = {"text": False, "-text": True}.get(request.GET.get("sort", ""))
    if by_scheme is None:  # schemes with a reason of their own first; sorting keeps the order by severity
        in_order = sorted(mapping_doubts.listed, key=lambda doubt: not mapping_doubts.own_words(doubt)[0])
    else:
        in_order = sorted(mapping_doubts.listed, key=lambda doubt: doubt.scheme, reverse=by_scheme)
    mapping_doubts = replace(mapping_doubts, listed=tuple(in_order))
    number = number_parameter(request, "page", 0) or 0
    address = _address(mapping_doubts, doubts_request)
    return {
        "kinds": [(kind.value, LABELS[kind], counts[kind]) for kind in DoubtKind],
        "choices": [(kind.value, f"{LABELS[kind]} ({counts[kind]:,})") for kind in DoubtKind],
        "asked": doubts_request,
        "q": doubts_request.q,
        "sort": request.GET.get("sort", ""),
        "orders": [("text", "by scheme"), ("-text", "by scheme, backwards")],
        "other": mapping_doubts.other,
        "candidates": [(NONE, NONE), *comparable(row).values_list("pk", "name")],
        "evaluation": mapping_doubts.evaluation,
        "evaluations": [(row.pk, source_label(row)) for row in mapping_doubts.evaluations],
        "total": len(mapping_doubts.doubts.rows),
        "shared_reasons": mapping_doubts.shared_reasons,
        "means": machine_options(row),
        "csv_url": f"{reverse('mapping-doubts-csv', args=[row.pk])}?{urlencode(address)}",
        "error": error,
        "posted": address,
        **_doubts_page(mapping_doubts, number),
    }


def _address(mapping_doubts: MappingDoubts, doubts_request: DoubtsRequest) -> dict[str, Any]:
    """The request as parameters of an address, with its defaults resolved."""
    address: dict[str, Any] = {"with": NONE if mapping_doubts.other is None else mapping_doubts.other.pk}
    if mapping_doubts.evaluation is not None:
        address |= {"by": mapping_doubts.evaluation.pk, "over": f"{doubts_request.over:g}"}
    return {**address, "kind": doubts_request.kind.value} if doubts_request.kind else address


def _doubts_page(mapping_doubts: MappingDoubts, number: int) -> dict[str, Any]:
    """The rows of a page with links to their evidence, deciding experiments, and buttons that measure."""
    row = mapping_doubts.row
    page = page_in_memory(mapping_doubts.listed, number, PAGE_SIZE)
    ids = ids_of_schemes(row.isa_id, [doubt.scheme for doubt in page.rows])
    decisions = mapping_doubts.decisions(page.rows)
    explained = is_explained(row)

    def scheme(doubt: Doubt) -> LinkedText:
        pk = ids.get(doubt.scheme)
        return LinkedText(doubt.scheme, reverse("scheme", args=[pk]) if pk else "")

    def why(doubt: Doubt) -> LinkedText:
        label, url = _evidence(mapping_doubts, doubt, ids.get(doubt.scheme), explained=explained)
        words, numbers = mapping_doubts.own_words(doubt)
        shared = f"reason{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}" if numbers else ""
        return LinkedText("; ".join(filter(None, (words, shared))), url, label=label)

    def decides(doubt: Doubt) -> LinkedText:
        if doubt not in decisions:
            undecided = "no short experiment distinguishes these µops"
            return LinkedText(
                "", note=undecided if doubt.alternatives and doubt.uops else "a repeated measurement"
            )
        experiment = decisions[doubt].distinction.experiment
        words = decisions[doubt].in_words("there" if doubt.kind is DoubtKind.CONFLICT else "otherwise")
        return LinkedText(str(experiment), experiment_url(experiment, row.isa, row), note=words)

    def buttons(doubt: Doubt) -> Buttons:
        actions = [("again", "Measure again"), ("decide", "Measure deciding experiment")]
        pk = ids.get(doubt.scheme)
        return [
            (f"{action}:{doubt.kind}:{pk}", label)
            for action, label in actions
            if pk and (action == "again" or doubt in decisions)
        ]

    doubts = Doubts(tuple(page.rows), mapping_doubts.doubts.ports)
    table = doubts_table(doubts, (code("deciding experiment"), decides), scheme=scheme, why=why)
    return {**page_cells(table, list(map(buttons, page.rows))), "page": page}


def _evidence(
    mapping_doubts: MappingDoubts, doubt: Doubt, pk: int | None, *, explained: bool
) -> tuple[str, str]:
    """(label, URL) of a doubt's evidence; ("", "") without any."""
    page = reverse("mapping", args=[mapping_doubts.row.pk])
    if doubt.kind is DoubtKind.CONFLICT and doubt.alternatives and mapping_doubts.other is not None:
        query: dict[str, Any] = {"tab": "compare", "with": mapping_doubts.other.pk, "q": f'"{doubt.scheme}"'}
        return "side by side", f"{page}?{urlencode(query)}"
    if pk is None:
        return "", ""
    if doubt.kind is DoubtKind.MISPREDICTED and mapping_doubts.evaluation is not None:
        source = mapping_doubts.evaluation.experiment_set_id or "held-out"
        query = {"tab": "accuracy", "set": source, "unit": mapping_doubts.evaluation.unit, "scheme": pk}
        return "its experiments", f"{page}?{urlencode(query)}"
    if explained:
        return "its witnesses", reverse("scheme-proof", args=[mapping_doubts.row.pk, pk])
    return ("the search", f"{page}?tab=evidence") if SEARCHED in mapping_doubts.row.report else ("", "")


def mapping_doubts_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """All doubts, or those of one `kind`, as CSV."""
    mapping_doubts = _requested_doubts(_mapping(pk), read(DoubtsRequest, request.GET, ADDRESS_NAMES))
    return file_answer(mapping_doubts.csv, "text/csv", f"{mapping_doubts.row.name} doubts", "csv")


@require_POST
def mapping_doubts_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Start a run that measures experiments about a doubt.

    The field `ask` is `again:KIND:ID` or `decide:KIND:ID`: repeat the doubt's evidence, or measure what
    decides it, for the scheme with this row id.
    """
    doubts_request = read(DoubtsRequest, request.POST, ADDRESS_NAMES)
    mapping_doubts = _requested_doubts(_mapping(pk), doubts_request)
    address = {"tab": "doubts", **_address(mapping_doubts, doubts_request)}
    back = f"{reverse('mapping', args=[pk])}?{urlencode(address)}"
    if "machine" not in request.POST:
        messages.error(
            request,
            f"The measurement was not started: no machine for {mapping_doubts.row.isa.name} is connected.",
        )
        return redirect(back)
    action, _, target = request.POST.get("ask", "").partition(":")
    kind, _, number = target.partition(":")
    if action not in ("again", "decide") or kind not in tuple(DoubtKind) or not number.isdecimal():
        raise BadRequest("ask must be again or decide, a kind of doubt and the number of a scheme")
    scheme = get_object_or_404(InstructionScheme, pk=int(number[:18]), isa=mapping_doubts.row.isa_id)
    return mapping_doubts.remeasurement(kind, scheme.text, decides=action == "decide").from_page(
        request, back
    )


def _requested_doubts(
    row: PortMapping, doubts_request: DoubtsRequest, value: Value | None = None
) -> MappingDoubts:
    try:
        return requested_doubts(row, doubts_request, value)
    except RequestError as error:
        raise error.renamed(ADDRESS_NAMES) from error


def _mapping(pk: int) -> PortMapping:
    return get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)


def excess_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """The context of the tab of experiments slower than predicted, in the set of the address or the best
    one."""
    sets = sets_for(row)
    number = number_parameter(request, "set")
    experiment_set = sets[0] if sets else None
    if number is not None:
        experiment_set = get_object_or_404(ExperimentSet, pk=number, isa_id=row.isa_id)
    context: dict[str, Any] = {"sets": sets, "chosen": experiment_set, "least": MIN_EXCESS, "most": MAX_ITEMS}
    if experiment_set is None:
        return context
    slow_groups = excess_in(row, experiment_set)
    table = excess_table(
        slow_groups,
        value.ports,
        "measured, cycles",
        f"{row.name}, cycles",
        lambda experiment: experiment_url(experiment, row.isa, row),
    )
    judgement = other_core(row, experiment_set) or scores_judgement(
        Scores(slow_groups.experiments, 100 * slow_groups.mean, None, None), "experiments"
    )
    context |= {"excess": slow_groups, "judgement": judgement if slow_groups.experiments else None}
    context["bars"] = _excess_bars(slow_groups, value.ports)
    return {**context, **page_cells(replace(table, rows=table.rows[:MAX_GROUPS]))}


@dataclass(frozen=True)
class ExcessBar:
    """A group of experiments in the picture: `sets` of (index, name) of the ports that limit them; lengths in
    per cent of the largest group.
    """

    group: ExcessGroup
    sets: Sequence[Sequence[tuple[int, str]]]
    width: float
    longer: float


def _excess_bars(slow_groups: Excess, ports: Sequence[str]) -> list[ExcessBar]:
    groups = slow_groups.groups[:MAX_BARS]
    largest = max((group.experiments for group in groups), default=1)
    return [
        ExcessBar(
            group,
            [[(index, ports[index]) for index in ports_in(mask)] for mask in group.port_sets],
            100 * group.experiments / largest,
            100 * len(group.exceeding) / largest,
        )
        for group in groups
    ]


def classes_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """The context of the tab of congruence classes, with the members that few experiments compared."""
    compared = congruence_of(row)
    return {
        **classes_context(request, compared.classes, row.isa, value, likeness=compared.likeness),
        "weak": compared.weak,
        "missing": compared.pairs,
        "few": FEW_COMPARED,
        "means": machine_options(row) if compared.pairs else None,
    }


@require_POST
def mapping_classes_measure(request: HttpRequest, pk: int) -> HttpResponse:
    row = _mapping(pk)
    back = f"{reverse('mapping', args=[pk])}?tab=classes"
    pairs = congruence_of(row).pairs
    if not pairs:
        messages.error(request, "The measurement was not started: all pairs are measured.")
        return redirect(back)
    return Remeasurement(row, pairs, 1, f"{row.name[:100]}: pairs for its classes").from_page(request, back)


urlpatterns = [
    path("mappings/<int:pk>/doubts.csv", mapping_doubts_csv, name="mapping-doubts-csv"),
    path("mappings/<int:pk>/doubts/", mapping_doubts_measure, name="mapping-doubts-measure"),
    path("mappings/<int:pk>/classes/", mapping_classes_measure, name="mapping-classes-measure"),
]


def _panel(
    name: str,
    title: str,
    tab: Callable[[HttpRequest, PortMapping, Value], Context],
    order: int,
    **options: Any,
) -> PagePanel:
    """A tab of a mapping."""

    def context(request: HttpRequest, subject: MappingSubject) -> Context:
        return tab(request, subject.row, subject.value)

    template = f"inference/findings/{name}.html"
    return PagePanel(PanelPlace.MAPPING, name, title, template, context, order=order, **options)


PANELS = (
    _panel("doubts", "Doubts", doubts_tab, 50, styles=("css/doubts.css",)),
    _panel("excess", "Slower than predicted", excess_tab, 60),
    _panel(
        "classes",
        "Classes",
        classes_tab,
        80,
        applies=lambda subject: bool(subject.row.report.get("congruence_classes")),
    ),
)
MENUS = (
    MenuEntry(
        MenuPlace.MAPPING,
        "Difference to LLVM’s model …",
        "mapping-llvm",
        "llvm-mca’s prediction for each scheme; a report in Markdown",
        applies=lambda row: target_of(row.isa.name).blocks is not None,
    ),
)
