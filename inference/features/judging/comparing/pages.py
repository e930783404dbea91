"""A mapping beside another one of the same instruction set, differences first.

Port mappings are compared up to a renaming of ports, with resource mappings by what schemes take alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.identity import ComparedScheme, MappingComparison, SchemeRelation
from inference.core.mapping import PortMapping as Mapping
from inference.features.judging.comparing.deviation_query import beside_loads, described_loads, loads_summary
from inference.features.judging.comparing.deviation_section import deviation_section
from inference.features.judging.comparing.query import (
    DifferingExperiment,
    comparison_head,
    differences_first,
    up_to_hidden,
    witnesses,
    write_comparison_csv,
)
from inference.features.learning.explained.reference_contradictions import (
    ReferenceContradiction,
    contradictions,
)
from inference.features.library.experiments.query import Singleton, measured_singletons
from inference.features.library.mappings.compared import comparison_of, summary
from inference.features.library.mappings.query import comparable
from inference.isa.search import SearchError
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.models.scheme_search import texts_found
from inference.storage.characterisations import KEY
from inference.storage.rows import ids_of_schemes
from inference.web.file_answers import file_answer
from inference.web.paging import Order, page_in_memory
from inference.web.presentation import COLOURS
from inference.web.requests import one_of, whole_number

LABELS = {
    SchemeRelation.DIFFERENT: "different µops",
    SchemeRelation.ONLY_FIRST: "only in this mapping",
    SchemeRelation.ONLY_SECOND: "only in the other",
    SchemeRelation.EQUAL: "same µops",
}
LOAD_LABELS = {
    SchemeRelation.DIFFERENT: "other cycles alone",
    SchemeRelation.ONLY_FIRST: "only in this mapping",
    SchemeRelation.ONLY_SECOND: "only in the other",
    SchemeRelation.EQUAL: "same cycles alone",
}
RESOURCES = "r"
"""Before the number of a resource mapping in the address."""

UNKNOWN_FIRST = -1.0
COLUMNS: dict[str, Callable[[ComparedScheme], Any]] = {
    "text": lambda row: row.scheme,
    "here": lambda row: UNKNOWN_FIRST if row.cycles[0] is None else row.cycles[0],
    "there": lambda row: UNKNOWN_FIRST if row.cycles[1] is None else row.cycles[1],
    "difference": lambda row: UNKNOWN_FIRST if row.difference is None else abs(row.difference),
}


@dataclass(frozen=True)
class ComparedSchemeRow:
    """A scheme of the table, its id, and what one instance was measured to take.

    `loads`: what it takes up in the other mapping, in words, "" where that has ports. `contradiction`: the
    witness of this mapping that speaks against the other one.
    """

    pk: int
    compared: ComparedScheme
    singleton: Singleton | None
    loads: str = ""
    contradiction: ReferenceContradiction | None = None


@dataclass(frozen=True)
class DecidingExperiment:
    """An experiment that tells the mappings apart, and where to read on."""

    witness: DifferingExperiment
    url: str


def compare_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The table of schemes of both mappings, searched with the syntax of the instruction set's page."""
    del value  # the comparison is remembered, with both mappings
    candidates = list(comparable(row).only("pk", "name"))
    resources = list(ResourceMapping.objects.filter(isa=row.isa_id).order_by("-id").only("pk", "name"))
    q = request.GET.get("q", "").strip()
    context: dict[str, Any] = {"candidates": candidates, "resource_candidates": resources, "q": q}
    other = _other(request, row)
    if other is None:
        return context
    context |= deviation_section(request, row, other)
    if isinstance(other, ResourceMapping):
        return {**context, **_with_loads(request, row, other, q)}
    comparison = comparison_of(row, other)
    show = one_of(request, "show", tuple(SchemeRelation))
    set_id = whole_number(request, "set")
    judged_by = None if set_id is None else get_object_or_404(ExperimentSet, pk=set_id, isa=row.isa_id)
    context |= {
        "other": other,
        "explained": KEY in row.report,
        "comparison": comparison,
        "summary": summary(comparison),
        "sets": ExperimentSet.objects.filter(isa=row.isa_id).order_by("-id").only("pk", "name"),
        "judged_by": judged_by,
        "up_to_hidden": None if judged_by is None else up_to_hidden(row, other, judged_by),
        "renamed": _renamed(comparison, row, other),
        "told": [_told(witness, row) for witness in witnesses(row, other, comparison)],
        "kinds": [(kind.value, label, _count(comparison, kind)) for kind, label in LABELS.items()],
        "show": show,
        "sort": request.GET.get("sort", ""),
        "export_url": f"{reverse('mapping-compare-csv', args=[row.pk])}?{urlencode({'with': other.pk})}",
    }
    try:
        rows = _chosen(comparison.schemes, row, q, show)
    except SearchError as error:
        return {**context, "error": str(error)}
    page = page_in_memory(_sorted(rows, context["sort"]), whole_number(request, "page", 0) or 0)
    spoken = contradictions(row, comparison, {each.scheme for each in page.rows})
    return {**context, "page": page, "rows": _rows(row, page.rows, contradicted=spoken)}


def _with_loads(request: HttpRequest, row: PortMapping, other: ResourceMapping, q: str) -> dict[str, Any]:
    """The table beside a resource mapping."""
    schemes = beside_loads(row, other)
    show = one_of(request, "show", tuple(SchemeRelation))
    counts = Counter(each.kind for each in schemes)
    context: dict[str, Any] = {
        "other": other,
        "resources": True,
        "summary": loads_summary(schemes),
        "comparison": {"schemes": schemes, "ports": row.ports},
        "kinds": [(kind.value, label, counts[kind]) for kind, label in LOAD_LABELS.items()],
        "show": show,
        "sort": request.GET.get("sort", ""),
    }
    try:
        rows = _chosen(schemes, row, q, show)
    except SearchError as error:
        return {**context, "error": str(error)}
    page = page_in_memory(_sorted(rows, context["sort"]), whole_number(request, "page", 0) or 0)
    loads = described_loads(other, [each.scheme for each in page.rows])
    return {**context, "page": page, "rows": _rows(row, page.rows, loads=loads)}


def _other(request: HttpRequest, row: PortMapping) -> PortMapping | ResourceMapping | None:
    """What to compare with: `with` is the number of a port mapping, or `r` and that of a resource mapping."""
    text = request.GET.get("with", "")
    number = text.removeprefix(RESOURCES)
    if not text:
        return None
    if not (number.isascii() and number.isdigit()) or len(number) > 18:
        raise BadRequest(f"with must be the number of a mapping, not {text[:40]!r}")
    rows: QuerySet[Any] = (ResourceMapping if text.startswith(RESOURCES) else PortMapping).objects.all()
    other: PortMapping | ResourceMapping = get_object_or_404(rows.select_related("isa"), pk=int(number))
    if other.isa_id != row.isa_id:
        raise BadRequest(f"{other.name!r} describes {other.isa.name}, not {row.isa.name}: nothing to compare")
    return other


def _chosen(schemes: Sequence[ComparedScheme], row: PortMapping, q: str, show: str) -> list[ComparedScheme]:
    rows = [each for each in schemes if not show or each.kind == show]
    if not q:
        return rows
    found = texts_found(row.isa_id, q)
    return [each for each in rows if each.scheme in found]


def _sorted(rows: Sequence[ComparedScheme], wanted: str) -> list[ComparedScheme]:
    """Differences first, unless the address names a column."""
    found = differences_first(rows)
    if wanted.removeprefix("-") in COLUMNS:
        order = Order.read(wanted, {key: key for key in COLUMNS}, "text")
        found.sort(key=COLUMNS[order.column], reverse=order.descending)
    return found


def _rows(
    row: PortMapping,
    shown: Sequence[ComparedScheme],
    *,
    loads: Dictionary[str, str] | None = None,
    contradicted: Dictionary[str, ReferenceContradiction] | None = None,
) -> list[ComparedSchemeRow]:
    texts = [each.scheme for each in shown]
    ids = ids_of_schemes(row.isa_id, texts)
    singletons = measured_singletons(row.isa)
    return [
        ComparedSchemeRow(
            ids[each.scheme],
            each,
            singletons.get(ids[each.scheme]),
            (loads or {}).get(each.scheme, ""),
            (contradicted or {}).get(each.scheme),
        )
        for each in shown
    ]


def _renamed(
    comparison: MappingComparison, row: PortMapping, other: PortMapping
) -> list[tuple[str, str, int]]:
    """(port there, port here or "", its colour), in the order of this mapping's ports."""
    last = len(row.ports)
    indices = [last if port is None else port for port in comparison.agreement.renaming.ports]
    names = [*row.ports, ""]
    pairs = sorted(zip(indices, other.ports, strict=True))
    return [(there, names[index], index % COLOURS) for index, there in pairs]


def _count(comparison: MappingComparison, kind: SchemeRelation) -> int:
    agreement = comparison.agreement
    return len(
        {
            SchemeRelation.DIFFERENT: agreement.differing,
            SchemeRelation.ONLY_FIRST: agreement.only_first,
            SchemeRelation.ONLY_SECOND: agreement.only_second,
            SchemeRelation.EQUAL: agreement.agreeing,
        }[kind]
    )


def _told(witness: DifferingExperiment, row: PortMapping) -> DecidingExperiment:
    if witness.experiment_id is not None:
        url = f"{reverse('experiment', args=[witness.experiment_id])}?{urlencode({'mapping': row.pk})}"
    else:
        asked: dict[str, Any] = {
            "e": str(witness.distinction.experiment),
            "isa": row.isa_id,
            "mapping": row.pk,
        }
        url = f"{reverse('experiments')}?{urlencode(asked)}"
    return DecidingExperiment(witness, url)


def mapping_compare_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The whole comparison as a file, differences first."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    other = _other(request, row)
    if not isinstance(other, PortMapping):
        raise BadRequest("with must be the number of the other port mapping")
    comparison = comparison_of(row, other)
    head = comparison_head(row, other)
    text = write_comparison_csv(comparison, differences_first(comparison.schemes), head)
    return file_answer(text, "text/csv", f"{row.name} and {other.name}", "csv")


urlpatterns = [
    path("mappings/<int:pk>/compare.csv", mapping_compare_csv, name="mapping-compare-csv"),
]
