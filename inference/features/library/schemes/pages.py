"""Pages of instruction sets: scheme tables, a scheme, and loading a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.features.library.instruction.cpu_values import MAX_TABLE_CPUS, CpuColumn, SchemeOnCpu
from inference.features.library.resources.query import loads_of
from inference.features.library.schemes.cpu_table import (
    SELECTIONS,
    SchemeTable,
    TableRequest,
    scheme_table,
    table_csv,
)
from inference.features.library.schemes.query import (
    EXPERIMENT_COLUMNS,
    SCHEME_COLUMNS,
    MappingFacts,
    extensions_of,
    facts_of,
    instruction_sets,
    measured_alone,
    page_of_experiments,
    shortest_measured,
    witnesses_of,
)
from inference.formats.problems import ExchangeError
from inference.formats.scheme_csv import write_scheme_csv
from inference.isa.search import SearchError
from inference.models import ISA, InstructionScheme, PortMapping
from inference.models.scheme_search import AVX512
from inference.storage.instruction_sets import BYTES_AT_ONCE, SUPPLIED, load_document
from inference.storage.judging import SchemeConflictText, conflicts_of
from inference.web.contributions import PanelPlace, rendered_panels
from inference.web.file_answers import file_answer
from inference.web.listed_mappings import evaluation_url, source_label
from inference.web.paging import Order, Page, page_in_memory, page_of
from inference.web.request_fields import StrictForm, form_page
from inference.web.validation import RequestError, number_parameter, read

SYNTAX = (
    ("add", "part of the scheme's text, or an alternative name"),
    ("cmovnz", "assemblers' name; addq and movzbl are AT&T syntax"),
    ("ADD_R64_R64", "uops.info's name, also ADD (R64, R64)"),
    ("VADDPDYrr", "LLVM's opcode"),
    ('"MEM[128]:R"', "an exact phrase"),
    ("mnemonic:imul", "the exact mnemonic"),
    ("ext:AVX2", "requires this CPU feature"),
    ("category:shift", "category"),
    ("memory:none", "use of memory: none, R, W or RW"),
    ("width:256", "widest operand, in bits"),
    ("is:default", "offered for inference; also is:starter, is:excluded"),
    ("is:measurable", "also those of the groups is:legacy-sse, is:mmx, is:x87, is:avx512"),
    ("is:breakable", "measurable together with dependency-breaking instructions"),
    ("-ext:AVX", "a leading minus negates the term"),
    ("vpadd -memory:R width:256", "several terms: all must match"),
)


def isas(request: HttpRequest) -> HttpResponse:
    return render(
        request, "inference/schemes/isas.html", {"isas": instruction_sets(), "supplied": list(SUPPLIED)}
    )


def isa(request: HttpRequest, pk: int) -> HttpResponse:
    """The schemes of an instruction set, with what the chosen CPUs say about each."""
    row = get_object_or_404(instruction_sets(), pk=pk)
    table, error = None, ""
    try:
        table = scheme_table(row, _table_request(request))
    except SearchError as problem:
        error = str(problem)
    all_schemes = InstructionScheme.objects.filter(isa=row)
    context = {
        "isa": row,
        "q": request.GET.get("q", "").strip(),
        "avx512": request.GET.get("avx512") == "on",
        "switch": all_schemes.filter(AVX512).exists(),
        "error": error,
        "syntax": SYNTAX,
        **({} if table is None else _table_context(request, table)),
    }
    return render(request, "inference/schemes/isa.html", context, status=400 if error else 200)


def isa_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The schemes of the table with the numbers of the chosen CPUs, all pages of it."""
    row = get_object_or_404(ISA, pk=pk)
    try:
        table = scheme_table(row, _table_request(request))
    except SearchError as error:
        raise RequestError("q", str(error)) from error
    return file_answer(table_csv(table), "text/csv", f"{row.name} schemes", "csv")


def _table_request(request: HttpRequest) -> TableRequest:
    """The request for the table. `cpu` is repeated, or `cpus` has keys separated by commas."""
    keys = None
    if "cpu" in request.GET or "cpus" in request.GET:
        listed = [*request.GET.getlist("cpu"), *request.GET.get("cpus", "").split(",")]
        keys = tuple(dict.fromkeys(key for key in listed if key))
    parameters = {name: request.GET.get(name, "") for name in ("q", "show", "port", "ext")}
    avx512 = request.GET.get("avx512") == "on"
    return read(TableRequest, {**parameters, "cpu": keys, "avx512": avx512})


def _table_context(request: HttpRequest, table: SchemeTable) -> dict[str, Any]:
    sortable = dict.fromkeys(table.sortable, "")
    order = Order.read(request.GET.get("sort", ""), {**SCHEME_COLUMNS, **sortable}, "fit")
    cursor = request.GET.get("page", "")
    if table.is_sorted_here(order):
        number = int(cursor) if cursor.isdecimal() and len(cursor) < 10 else 0
        ids = page_in_memory(table.sorted_ids(order), number)
        by_id = InstructionScheme.objects.in_bulk(ids.rows)
        page = Page([by_id[pk] for pk in ids.rows], ids.total, ids.next_cursor, ids.previous_cursor)
    else:
        page = page_of(table.rows, order, SCHEME_COLUMNS, cursor)
    keys = [column.cpu.key for column in table.columns]
    mappings = [column.cpu.mapping.pk for column in table.columns if column.cpu.mapping is not None]
    conflicts = conflicts_of(mappings, [row.text for row in page.rows])
    return {
        "page": page,
        "rows": [(row, _cells(table, row.text, conflicts)) for row in page.rows],
        "hidden": table.hidden.count(),
        "sort": "" if order.column == "fit" else str(order),
        "columns": table.columns,
        "cpu_choices": [(cpu, cpu.key in keys) for cpu in table.cpus],
        "max_cpus": MAX_TABLE_CPUS,
        "selections": SELECTIONS,
        "show": table.request.selection,
        "port": table.request.port,
        "extensions": extensions_of(table.isa),
        "ext": table.request.ext,
        "csv": f"{reverse('isa-csv', args=[table.isa.pk])}?{request.GET.urlencode()}",
    }


def _cells(
    table: SchemeTable, text: str, conflicts: Mapping[tuple[int, str], Sequence[SchemeConflictText]]
) -> list[tuple[CpuColumn, SchemeOnCpu, list[str]]]:
    """(column, values, what other results of the CPU say) of a scheme."""
    return [
        (
            column,
            value,
            [conflict.words for conflict in conflicts.get((column.cpu.mapping.pk, text), ())]
            if column.cpu.mapping is not None
            else [],
        )
        for column, value in table.cells(text)
    ]


LARGEST = 12  # loads of a resource mapping that are listed


def scheme(request: HttpRequest, pk: int) -> HttpResponse:
    """The page of a scheme; `mapping` in the address predicts its experiments, `sort` and `page` select
    them.
    """
    row = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=pk)
    facts = facts_of(row)
    predicted_by = _predicted_by(request, facts)
    order = Order.read(request.GET.get("sort", ""), EXPERIMENT_COLUMNS, "length")
    page, experiments = page_of_experiments(row, predicted_by, order, request.GET.get("page", ""))
    return render(
        request,
        "inference/schemes/scheme.html",
        {
            "scheme": row,
            "facts": [_row(line) for line in facts],
            "describing": [line.mapping for line in facts if line.uops is not None],
            "loads": [(line, line.loads[:LARGEST], len(line.loads[LARGEST:])) for line in loads_of(row)],
            "alone": measured_alone(row),
            "witnesses": [(witness, ((witness.mask, 1),)) for witness in witnesses_of(row)],
            "predicted_by": predicted_by,
            "sort": str(order),
            "page": page,
            "experiments": experiments,
            "panels": rendered_panels(request, PanelPlace.SCHEME, row),
        },
    )


def _predicted_by(request: HttpRequest, facts: list[MappingFacts]) -> PortMapping | None:
    """The mapping that the address names, else the newest that describes the scheme."""
    describing = {line.mapping.pk: line.mapping for line in facts if line.uops is not None}
    pk = number_parameter(request, "mapping")
    if pk is None:
        return next(iter(describing.values()), None)
    return describing.get(pk) or get_object_or_404(PortMapping.objects.none(), pk=pk)


def _row(facts: MappingFacts) -> dict[str, Any]:
    residual = facts.residual
    if residual is None:
        return {"facts": facts}
    url = f"{evaluation_url(residual.evaluation)}&scheme="
    return {"facts": facts, "error": residual.error, "on": source_label(residual.evaluation), "url": url}


def scheme_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The measurements that contain the scheme, as a file that can be imported."""
    row = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=pk)
    text = write_scheme_csv(row.text, row.isa.name, *shortest_measured(row))
    return file_answer(text, "text/csv", f"{row.text} experiments", "csv")


class DocumentForm(StrictForm):
    document = forms.FileField(
        label="Instruction set (JSON)",
        help_text="In the format of docs/formats.md. An existing set of the same name is updated; "
        "references to its schemes stay valid.",
        widget=forms.ClearableFileInput(attrs={"accept": ".json,application/json"}),
    )

    def clean_document(self) -> UploadedFile[bytes]:
        """Rejects documents that are too large for a page."""
        upload: UploadedFile[bytes] = self.cleaned_data["document"]
        if upload.size is None or upload.size > BYTES_AT_ONCE:
            raise forms.ValidationError(
                f"This page accepts documents of up to {BYTES_AT_ONCE >> 20} MiB; load larger ones by "
                "manage.py load-isa FILE"
            )
        return upload


def isa_load(request: HttpRequest) -> HttpResponse:
    """The form for a document; a POST loads it, or shows the problems."""
    form = DocumentForm(request.POST, request.FILES) if request.method == "POST" else DocumentForm()
    if form.is_bound and form.is_valid():
        try:
            isa = load_document(form.cleaned_data["document"].read())
        except ExchangeError as error:
            form.add_error("document", str(error))
        else:
            return redirect("isa", pk=isa.pk)
    return form_page(request, "inference/schemes/isa_load.html", form)


urlpatterns = [
    path("isas/", isas, name="isas"),
    path("isas/<int:pk>/", isa, name="isa"),
    path("isas/<int:pk>/schemes.csv", isa_csv, name="isa-csv"),
    path("schemes/<int:pk>/", scheme, name="scheme"),
    path("schemes/<int:pk>/experiments.csv", scheme_csv, name="scheme-csv"),
    path("isas/load/", isa_load, name="isa-load"),
]
