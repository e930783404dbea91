"""The scheme table with what CPUs say about each scheme: filters, order, and rows for page, CSV and API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from pydantic import BaseModel, ConfigDict, Field

from inference.core.mapping import described
from inference.features.library.instruction.cpu_values import (
    NOTHING_KNOWN,
    CpuColumn,
    SchemeOnCpu,
    chosen_cpus,
    columns_of,
    differing_schemes,
    table_cpus,
)
from inference.features.library.instruction.cpus import Cpu
from inference.formats.provenance import head_of
from inference.formats.quoting import csv_text
from inference.isa.search import names_avx512, parse_search
from inference.models import ISA, InstructionScheme
from inference.models.scheme_search import AVX512, annotate_fit, search_schemes
from inference.web.paging import Order
from inference.web.validation import RequestError

DEFAULT_CPUS = 3
"""CPUs of the table where none is chosen."""
ALL, KNOWN, DIFFERING = "all", "known", "differing"
SELECTIONS = (
    (ALL, "all schemes"),
    (KNOWN, "known on a chosen CPU"),
    (DIFFERING, "different on the chosen CPUs"),
)
_NUMBERS: dict[str, Callable[[SchemeOnCpu], float | None]] = {
    "cycles": lambda value: value.cycles,
    "latency": lambda value: value.latency,
}
"""Sortable columns of a CPU."""
_HEADER = ("ports", "cycles", "cycles are", "latency least", "latency most")


class TableRequest(BaseModel):
    """The CPUs beside the schemes, and which schemes."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    q: str = ""
    cpu: tuple[str, ...] | None = None
    show: str = Field("", pattern=f"^({'|'.join(name for name, _ in SELECTIONS)})?$")
    port: str = Field("", max_length=40)
    ext: str = Field("", max_length=100)
    avx512: bool = False

    @property
    def selection(self) -> str:
        """Which schemes: without a search those that a CPU knows, unless the request says more."""
        return self.show or (ALL if self.q or self.cpu == () else KNOWN)


@dataclass(frozen=True)
class SchemeTable:
    """The table.

    Attributes:
        cpus: All that can be chosen.
        columns: The chosen ones.
        rows: The matching schemes.
        hidden: Number of schemes that are left out because they are of AVX-512.
    """

    isa: ISA
    request: TableRequest
    cpus: Sequence[Cpu]
    columns: Sequence[CpuColumn]
    rows: QuerySet[InstructionScheme]
    hidden: QuerySet[InstructionScheme]

    @property
    def sortable(self) -> dict[str, tuple[CpuColumn, Callable[[SchemeOnCpu], float | None]]]:
        """{name of a sort order: the column and its number}."""
        return {
            f"{column.cpu.key}.{name}": (column, number)
            for column in self.columns
            for name, number in _NUMBERS.items()
        }

    def is_sorted_here(self, order: Order) -> bool:
        """Whether the order is not the database's."""
        return order.column in self.sortable or (
            order.column == "fit" and bool(self.columns) and not self.request.q
        )

    def sorted_ids(self, order: Order) -> list[int]:
        """The ids of all rows by a CPU's number, those without one last; by fit, those that most CPUs know
        first.
        """
        if order.column not in self.sortable:
            numbers = Counter(text for column in self.columns for text in column.values)
            rows = list(self.rows.order_by("pk").values_list("pk", "text"))
            return [pk for pk, text in sorted(rows, key=lambda row: -numbers[row[1]])]
        column, number = self.sortable[order.column]
        with_facts, unknown = [], []
        for pk, text in self.rows.order_by("text").values_list("pk", "text"):
            value = number(column.values.get(text, NOTHING_KNOWN))
            if value is None:
                unknown.append(pk)
            else:
                with_facts.append((value, pk))
        with_facts.sort(key=lambda pair: pair[0], reverse=order.descending)
        return [*(pk for _, pk in with_facts), *unknown]

    def cells(self, text: str) -> list[tuple[CpuColumn, SchemeOnCpu]]:
        return [(column, column.values.get(text, NOTHING_KNOWN)) for column in self.columns]


def scheme_table(isa: ISA, request: TableRequest, default: int = DEFAULT_CPUS) -> SchemeTable:
    """The table of an instruction set.

    Args:
        isa: The instruction set.
        request: The request.
        default: Number of CPUs where the request names none.

    Raises:
        SearchError: For a malformed search.
        RequestError: For an unknown CPU or port.
    """
    cpus = table_cpus(isa)
    selection = _distinct_cores(cpus)[:default] if request.cpu is None else chosen_cpus(cpus, request.cpu)
    columns = columns_of(isa, selection)
    matches = search_schemes(InstructionScheme.objects.filter(isa=isa), request.q)
    if request.ext:
        matches = matches.filter(extension=request.ext)
    texts = _selected_texts(request, columns)
    if texts is not None:
        matches = matches.filter(text__in=texts)
    with_avx512 = request.avx512 or names_avx512(parse_search(request.q))
    rows = matches if with_avx512 else matches.exclude(AVX512)
    hidden = matches.none() if with_avx512 else matches.filter(AVX512)
    return SchemeTable(isa, request, cpus, columns, annotate_fit(rows, request.q), hidden)


def _distinct_cores(cpus: Sequence[Cpu]) -> list[Cpu]:
    firsts = {cpu.core or cpu.key: cpu for cpu in reversed(cpus)}
    return [cpu for cpu in cpus if firsts[cpu.core or cpu.key] is cpu]


def _selected_texts(request: TableRequest, columns: Sequence[CpuColumn]) -> set[str] | None:
    """The schemes that the request's CPUs allow, None for all."""
    if request.port:
        if len(columns) != 1:
            raise RequestError("port", "ports are those of one CPU", "exactly one CPU")
        if request.port not in {*columns[0].cpu.ports, *columns[0].cpu.port_labels}:
            right = ", ".join(columns[0].cpu.port_labels) or "no port"
            raise RequestError("port", f"{columns[0].cpu.label} has no port {request.port!r}", right)
        return columns[0].schemes_on(request.port)
    if not columns or request.selection == ALL:
        return None
    if request.selection == DIFFERING:
        return differing_schemes(columns)
    return {text for column in columns for text in column.values}


def table_csv(table: SchemeTable) -> str:
    """All matching schemes, with the numbers of the chosen CPUs."""
    header = ["scheme", "extension"]
    header += [f"{column.cpu.label}: {name}" for column in table.columns for name in _HEADER]
    rows = table.rows.order_by("text").values_list("text", "extension")
    remark = f"# {table.isa.name}: cycles of one instance alone, latencies in cycles\n"
    return csv_text(header, (tuple(_csv_row(table, *row)) for row in rows), head_of() + remark)


def _csv_row(table: SchemeTable, text: str, extension: str) -> Iterator[str | float | None]:
    yield text
    yield extension
    for column, value in table.cells(text):
        yield None if value.uops is None else described(value.uops, column.cpu.port_labels)
        yield value.cycles
        yield None if value.cycles is None else "measured" if value.is_measured else "predicted"
        yield value.least_latency
        yield value.latency
