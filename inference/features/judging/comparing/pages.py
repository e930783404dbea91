"""The tab that compares a mapping with another one of the same instruction set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.http import urlencode
from django.utils.safestring import mark_safe

from inference.core.deviation import Sampling
from inference.core.errors import InvalidInputError
from inference.core.experiment import Unit
from inference.core.identity import ComparedScheme, SchemeRelation
from inference.features.judging.comparing.query import (
    MAX_EXPERIMENTS,
    DifferingExperiment,
    Model,
    SamplingRequest,
    Structure,
    compared_schemes,
    described_loads,
    deviation_of,
    differences_first,
    loads_summary,
)
from inference.features.judging.comparing.tables import (
    comparison_csv,
    contradiction_in_words,
    deviation_table,
    schemes_table,
    structure_tables,
)
from inference.features.judging.engine.tables import LinkedNumber, LinkedText, number, page_cells
from inference.features.learning.explained.query import contradictions
from inference.features.library.mappings.query import comparable, summary
from inference.figures.heatmap import heat_map
from inference.figures.svg import heat_map_drawing
from inference.isa.search import SearchError
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.storage.characterisations import KEY
from inference.storage.rows import ids_of_schemes
from inference.storage.singletons import comparable_sets, measured_singletons
from inference.web.contributions import PagePanel, PanelPlace
from inference.web.file_answers import file_answer
from inference.web.paging import Order, page_in_memory
from inference.web.published_page import PublishedTable
from inference.web.validation import RequestError, choice_parameter, number_parameter, read

LABELS = {
    SchemeRelation.DIFFERENT: "different",
    SchemeRelation.ONLY_FIRST: "only in this mapping",
    SchemeRelation.ONLY_SECOND: "only in the other",
    SchemeRelation.EQUAL: "same",
}
RESOURCES = "r"
"""Prefix of a resource mapping's id in the address."""

UNKNOWN_FIRST = -1.0
COLUMNS: dict[str, Callable[[ComparedScheme], Any]] = {
    "text": lambda row: row.scheme,
    "here": lambda row: UNKNOWN_FIRST if row.cycles[0] is None else row.cycles[0],
    "there": lambda row: UNKNOWN_FIRST if row.cycles[1] is None else row.cycles[1],
    "difference": lambda row: UNKNOWN_FIRST if row.difference is None else abs(row.difference),
}
ORDERS = (
    *(("text", "by scheme"), ("-here", "cycles here"), ("-there", "cycles there")),
    ("-difference", "difference in cycles"),
)


def compare_tab(request: HttpRequest, row: PortMapping) -> dict[str, Any]:
    """The context of the tab: the schemes of both mappings, which are searched like the scheme table."""
    candidates = [(str(pk), name) for pk, name in comparable(row).values_list("pk", "name")]
    resources = ResourceMapping.objects.filter(isa=row.isa_id).order_by("-id").values_list("pk", "name")
    candidates += [(f"{RESOURCES}{pk}", f"{name} (resources)") for pk, name in resources]
    q = request.GET.get("q", "").strip()
    other = _requested_other(request, row)
    context: dict[str, Any] = {"candidates": candidates, "q": q, "with": request.GET.get("with", "")}
    if other is None:
        return context
    schemes = compared_schemes(row, other)
    counts = Counter(scheme.kind for scheme in schemes)
    show = choice_parameter(request, "show", tuple(SchemeRelation))
    context |= {
        "other": other,
        "kinds": [(kind.value, f"{label} ({counts[kind]:,})") for kind, label in LABELS.items()],
        "show": show,
        "sort": request.GET.get("sort", ""),
        "orders": ORDERS,
        "summary": loads_summary(schemes),
        "scheme_count": len(schemes),
        **_deviation(request, row, other),
    }
    if isinstance(other, PortMapping):
        context |= _structure(request, row, other)
    try:
        rows = differences_first(schemes, row.isa_id, q, show)
    except SearchError as error:
        return {**context, "error": str(error)}
    if context["sort"].removeprefix("-") in COLUMNS:
        order = Order.read(context["sort"], {key: key for key in COLUMNS}, "text")
        rows.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(rows, number_parameter(request, "page", 0) or 0)
    return {**context, "page": page, "schemes": page_cells(_page_table(row, other, page.rows))}


def _structure(request: HttpRequest, row: PortMapping, other: PortMapping) -> dict[str, Any]:
    set_id = number_parameter(request, "set")
    judged_by = None if set_id is None else get_object_or_404(ExperimentSet, pk=set_id, isa=row.isa_id)
    structure = Structure(row, other, judged_by)

    def url(witness: DifferingExperiment) -> str:
        if witness.experiment_id is None:
            return _experiment_url(row, str(witness.experiment))
        return f"{reverse('experiment', args=[witness.experiment_id])}?{urlencode({'mapping': row.pk})}"

    return {
        "structure": structure,
        "summary": summary(structure.comparison),
        "sets": ExperimentSet.objects.filter(isa=row.isa_id).order_by("-id").values_list("pk", "name"),
        "judged_by": judged_by,
        "structure_tables": list(map(page_cells, structure_tables(structure, url))),
        "export_url": f"{reverse('mapping-compare-csv', args=[row.pk])}?{urlencode({'with': other.pk})}",
    }


def _experiment_url(row: PortMapping, experiment: str) -> str:
    fields: dict[str, Any] = {"e": experiment, "isa": row.isa_id, "mapping": row.pk}
    return f"{reverse('experiments')}?{urlencode(fields)}"


def _requested_other(request: HttpRequest, row: PortMapping) -> Model | None:
    """The other mapping in the address: `with` is the id of a port mapping, or `r` and that of a resource
    mapping."""
    text = request.GET.get("with", "")
    digits = text.removeprefix(RESOURCES)
    if not text:
        return None
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise BadRequest(f"with must be the id of a mapping, not {text[:40]!r}")
    rows: QuerySet[Any] = (ResourceMapping if text.startswith(RESOURCES) else PortMapping).objects.all()
    other: Model = get_object_or_404(rows.select_related("isa"), pk=int(digits))
    if other.isa_id != row.isa_id:
        raise BadRequest(f"{other.name!r} describes {other.isa.name}, not {row.isa.name}")
    return other


def _deviation(request: HttpRequest, row: PortMapping, other: Model) -> dict[str, Any]:
    """The context of the deviation on random experiments: form, scores and heat map."""
    context: dict[str, Any] = {
        "units": [(unit.value, unit.label) for unit in Unit],
        "most_experiments": MAX_EXPERIMENTS,
    }
    try:
        sampling = read(SamplingRequest, request.GET).as_sampling()
    except (InvalidInputError, RequestError) as error:
        return {**context, "sampling": Sampling(), "deviation_error": str(error)}
    deviation = deviation_of(row, other, sampling)
    far, points = deviation.furthest, deviation.points
    deviation_map = heat_map(points.reference, points.predicted)
    drawing = heat_map_drawing(deviation_map, sampling.unit.label, "first", "second")
    return {
        **context,
        "sampling": sampling,
        "deviation": deviation,
        "deviation_table": page_cells(deviation_table(row, other, deviation, sampling)),
        "deviation_map": mark_safe(drawing.inline()),  # noqa: S308  the drawing escapes its texts
        "furthest_url": "" if far is None else _experiment_url(row, str(far.experiment)),
    }


def _page_table(row: PortMapping, other: Model, schemes: Sequence[ComparedScheme]) -> PublishedTable:
    """The table of some schemes, with links, remarks on their differences, and measurements."""
    texts = [scheme.scheme for scheme in schemes]
    ids, singletons = ids_of_schemes(row.isa_id, texts), measured_singletons(row.isa, comparable_sets(row)[1])
    if isinstance(other, ResourceMapping):
        table = schemes_table(schemes, row.ports, described_loads(other, texts))
        remarks: Mapping[str, LinkedText] = {}
    else:
        table = schemes_table(schemes, Structure(row, other).comparison.ports)
        remarks = _remarks(row, other, schemes, ids)
    rows = []
    for scheme, cells in zip(schemes, table.rows, strict=True):
        pk, singleton = ids[scheme.scheme], singletons.get(ids[scheme.scheme])
        label = LABELS[scheme.kind]
        experiment = "" if singleton is None else reverse("experiment", args=[singleton.experiment_id])
        rows.append(
            (
                LinkedText(scheme.scheme, reverse("scheme", args=[pk])),
                remarks.get(scheme.scheme, LinkedText(label)),
                *cells[2:7],
                None
                if singleton is None
                else LinkedNumber(singleton.cycles, f"{experiment}?mapping={row.pk}"),
            )
        )
    return replace(table, columns=(*table.columns[:7], number("measured")), rows=tuple(rows))


def _remarks(
    row: PortMapping, other: PortMapping, schemes: Sequence[ComparedScheme], ids: Mapping[str, int]
) -> dict[str, LinkedText]:
    """{scheme: the remark on its difference, with a link to the evidence}."""
    by_scheme = contradictions(row, Structure(row, other).comparison, {scheme.scheme for scheme in schemes})
    remarks = {}
    for scheme in schemes:
        text, label = scheme.scheme, LABELS[scheme.kind]
        proof = reverse("scheme-proof", args=[row.pk, ids[text]])
        if text in by_scheme:
            note = contradiction_in_words(by_scheme[text])
            remarks[text] = LinkedText(label, proof, label="A witness contradicts the other", note=note)
        elif scheme.differs_in_hidden:
            note = "differs only in hidden µops: no experiment can show them"
            remarks[text] = LinkedText(label, note=note)
        elif KEY in row.report and scheme.kind is SchemeRelation.DIFFERENT:
            remarks[text] = LinkedText(label, proof, label="Evidence")
    return remarks


def mapping_compare_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The whole comparison as CSV, differences first."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    other = _requested_other(request, row)
    if not isinstance(other, PortMapping):
        raise BadRequest("with must be the id of the other port mapping")
    name = f"{row.name} and {other.name}"
    return file_answer(comparison_csv(row, other), "text/csv", name, "csv")


urlpatterns = [
    path("mappings/<int:pk>/compare.csv", mapping_compare_csv, name="mapping-compare-csv"),
]

PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "compare",
        "Compare",
        "inference/comparing/compare.html",
        lambda request, subject: compare_tab(request, subject.row),
        order=40,
        styles=("css/core-diagram.css",),
    ),
)
