"""A mapping beside another one of the same instruction set, up to a renaming of ports, differences first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.http import urlencode
from django.utils.text import slugify

from inference.core.identity import ComparedScheme, Comparison, Kind
from inference.core.mapping import PortMapping as Mapping
from inference.exchange.comparison_csv import write_comparison_csv
from inference.isa.search import SearchError
from inference.models import InstructionScheme, PortMapping
from inference.models.scheme_search import search_schemes
from inference.queries.comparing import (
    Witness,
    comparable,
    comparison_of,
    differences_first,
    summary,
    witnesses,
)
from inference.queries.paging import Order, page_in_memory
from inference.queries.singletons import Singleton, measured_singletons
from inference.views.address import one_of, whole_number
from inference.views.presentation import COLOURS

LABELS = {
    Kind.DIFFERENT: "different µops",
    Kind.ONLY_FIRST: "only in this mapping",
    Kind.ONLY_SECOND: "only in the other",
    Kind.EQUAL: "same µops",
}
UNKNOWN_FIRST = -1.0
COLUMNS: dict[str, Callable[[ComparedScheme], Any]] = {
    "text": lambda row: row.scheme,
    "here": lambda row: UNKNOWN_FIRST if row.cycles[0] is None else row.cycles[0],
    "there": lambda row: UNKNOWN_FIRST if row.cycles[1] is None else row.cycles[1],
    "difference": lambda row: UNKNOWN_FIRST if row.difference is None else abs(row.difference),
}


@dataclass(frozen=True)
class Row:
    """A scheme of the table, its id, and what one instance was measured to take."""

    pk: int
    compared: ComparedScheme
    singleton: Singleton | None

    @property
    def label(self) -> str:
        """How the mappings stand to each other on it, in words."""
        return LABELS[self.compared.kind]


@dataclass(frozen=True)
class Told:
    """An experiment that tells the mappings apart, and where to read on."""

    witness: Witness
    url: str


def compare_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The table of schemes of both mappings, searched with the syntax of the instruction set's page."""
    del value  # the comparison is remembered, with both mappings
    candidates = list(comparable(row).only("pk", "name"))
    context: dict[str, Any] = {"candidates": candidates, "q": request.GET.get("q", "").strip()}
    other = _other(request, row)
    if other is None:
        return context
    comparison = comparison_of(row, other)
    show = one_of(request, "show", tuple(Kind))
    context |= {
        "other": other,
        "comparison": comparison,
        "summary": summary(comparison),
        "renamed": _renamed(comparison, row, other),
        "told": [_told(witness, row) for witness in witnesses(row, other, comparison)],
        "kinds": [(kind.value, label, _count(comparison, kind)) for kind, label in LABELS.items()],
        "show": show,
        "sort": request.GET.get("sort", ""),
        "export_url": f"{reverse('mapping-compare-csv', args=[row.pk])}?{urlencode({'with': other.pk})}",
    }
    try:
        rows = _chosen(comparison, row, context["q"], show)
    except SearchError as error:
        return {**context, "error": str(error)}
    page = page_in_memory(_sorted(rows, context["sort"]), whole_number(request, "page", 0) or 0)
    return {**context, "page": page, "rows": _rows(row, page.rows)}


def _other(request: HttpRequest, row: PortMapping) -> PortMapping | None:
    pk = whole_number(request, "with")
    if pk is None:
        return None
    other = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    if other.isa_id != row.isa_id:
        raise BadRequest(f"{other.name!r} describes {other.isa.name}, not {row.isa.name}: nothing to compare")
    return other


def _chosen(comparison: Comparison, row: PortMapping, q: str, show: str) -> list[ComparedScheme]:
    rows = [each for each in comparison.schemes if not show or each.kind == show]
    if not q:
        return rows
    schemes = search_schemes(InstructionScheme.objects.filter(isa=row.isa_id), q)
    found = set(schemes.values_list("text", flat=True))
    return [each for each in rows if each.scheme in found]


def _sorted(rows: Sequence[ComparedScheme], wanted: str) -> list[ComparedScheme]:
    """Differences first, unless the address names a column."""
    found = differences_first(rows)
    if wanted.removeprefix("-") in COLUMNS:
        order = Order.read(wanted, {key: key for key in COLUMNS}, "text")
        found.sort(key=COLUMNS[order.column], reverse=order.descending)
    return found


def _rows(row: PortMapping, shown: Sequence[ComparedScheme]) -> list[Row]:
    texts = [each.scheme for each in shown]
    ids = dict(InstructionScheme.objects.filter(isa=row.isa_id, text__in=texts).values_list("text", "pk"))
    singletons = measured_singletons(row.isa)
    return [Row(ids[each.scheme], each, singletons.get(ids[each.scheme])) for each in shown]


def _renamed(comparison: Comparison, row: PortMapping, other: PortMapping) -> list[tuple[str, str, int]]:
    """(port there, port here or "", its colour), in the order of this mapping's ports."""
    last = len(row.ports)
    indices = [last if port is None else port for port in comparison.agreement.renaming.ports]
    names = [*row.ports, ""]
    pairs = sorted(zip(indices, other.ports, strict=True))
    return [(there, names[index], index % COLOURS) for index, there in pairs]


def _count(comparison: Comparison, kind: Kind) -> int:
    agreement = comparison.agreement
    return len(
        {
            Kind.DIFFERENT: agreement.differing,
            Kind.ONLY_FIRST: agreement.only_first,
            Kind.ONLY_SECOND: agreement.only_second,
            Kind.EQUAL: agreement.agreeing,
        }[kind]
    )


def _told(witness: Witness, row: PortMapping) -> Told:
    if witness.experiment_id is not None:
        url = f"{reverse('experiment', args=[witness.experiment_id])}?{urlencode({'mapping': row.pk})}"
    else:
        asked = {"e": str(witness.distinction.experiment), "isa": row.isa_id, "mapping": row.pk}
        url = f"{reverse('experiments')}?{urlencode(asked)}"
    return Told(witness, url)


def mapping_compare_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The whole comparison as a file, differences first."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    other = _other(request, row)
    if other is None:
        raise BadRequest("with must be the number of the other mapping")
    comparison = comparison_of(row, other)
    name = f"{slugify(row.name) or 'mapping'}-and-{slugify(other.name) or 'mapping'}.csv"
    return HttpResponse(
        write_comparison_csv(comparison, differences_first(comparison.schemes)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


urlpatterns = [path("mappings/<int:pk>/compare.csv", mapping_compare_csv, name="mapping-compare-csv")]
