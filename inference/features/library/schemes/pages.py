"""Instruction sets with their scheme tables, the page of a scheme, and loading a set from a document."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.features.library.resources.query import loads_of
from inference.features.library.schemes.query import (
    EXPERIMENT_COLUMNS,
    SCHEME_COLUMNS,
    MappingSaid,
    instruction_sets,
    measured_alone,
    page_of_experiments,
    said_of,
    shortest_measured,
    witnesses_of,
)
from inference.formats.errors import ExchangeError
from inference.formats.scheme_csv import write_scheme_csv
from inference.isa.search import SearchError, names_avx512, parse_search
from inference.models import InstructionScheme, PortMapping
from inference.models.scheme_fit import by_fit
from inference.models.scheme_search import AVX512, search_schemes, searched_schemes
from inference.storage.instruction_sets import BYTES_AT_ONCE, load_document
from inference.web.contributions import PanelPlace, shown_panels
from inference.web.file_answers import file_answer
from inference.web.listed_mappings import evaluation_url, source_label
from inference.web.paging import Order, Page, page_of
from inference.web.request_fields import StrictForm
from inference.web.validation import whole_number

SYNTAX = (
    ("add", "in the scheme's text, or another name of it"),
    ("cmovnz", "as assemblers call it; addq and movzbl as in AT&T syntax"),
    ("ADD_R64_R64", "as uops.info calls it, also ADD (R64, R64)"),
    ("VADDPDYrr", "LLVM's opcode"),
    ('"MEM[128]:R"', "a phrase with blanks or signs, as it stands"),
    ("mnemonic:imul", "exactly this mnemonic"),
    ("ext:AVX2", "needs this CPU feature"),
    ("category:shift", "of this kind"),
    ("memory:none", "none, R, W or RW: how memory is used"),
    ("width:256", "widest operand, in bits"),
    ("is:default", "offered for inference; also is:starter, is:excluded"),
    ("is:measurable", "also those of the groups is:legacy-sse, is:mmx, is:x87, is:avx512"),
    ("is:breakable", "measurable with other instructions that break their dependencies"),
    ("-ext:AVX", "a leading minus: not so"),
    ("vpadd -memory:R width:256", "several terms: all must hold"),
)


def isas(request: HttpRequest) -> HttpResponse:
    return render(request, "inference/schemes/isas.html", {"isas": instruction_sets()})


def isa(request: HttpRequest, pk: int) -> HttpResponse:
    """The scheme table of an instruction set."""
    found = get_object_or_404(instruction_sets(), pk=pk)
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), SCHEME_COLUMNS, "fit")
    avx512 = request.GET.get("avx512") == "on"
    everything = InstructionScheme.objects.filter(isa=found)
    switch = everything.filter(AVX512).exists()
    page: Page[InstructionScheme] | None = None
    error = ""
    hidden = 0
    try:
        rows = searched_schemes(everything, q, avx512=avx512)
        if switch and not avx512 and not names_avx512(parse_search(q)):
            hidden = search_schemes(everything, q).filter(AVX512).count()
        page = page_of(by_fit(rows, q), order, SCHEME_COLUMNS, request.GET.get("page", ""))
    except SearchError as problem:
        error = str(problem)
    return render(
        request,
        "inference/schemes/isa.html",
        {
            "isa": found,
            "page": page,
            "q": q,
            "avx512": avx512,
            "hidden": hidden,
            "switch": switch,
            "sort": "" if order.column == "fit" else str(order),
            "error": error,
            "syntax": SYNTAX,
        },
        status=400 if error else 200,
    )


LARGEST = 12  # loads of a resource mapping that are listed


def scheme(request: HttpRequest, pk: int) -> HttpResponse:
    """A scheme; the address has `mapping`, which predicts its experiments, and their `sort` and `page`."""
    found = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=pk)
    said = said_of(found)
    predicted_by = _predicted_by(request, said)
    order = Order.read(request.GET.get("sort", ""), EXPERIMENT_COLUMNS, "length")
    page, experiments = page_of_experiments(found, predicted_by, order, request.GET.get("page", ""))
    return render(
        request,
        "inference/schemes/scheme.html",
        {
            "scheme": found,
            "said": [_row(each) for each in said],
            "describing": [each.mapping for each in said if each.uops is not None],
            "loads": [(each, each.loads[:LARGEST], len(each.loads[LARGEST:])) for each in loads_of(found)],
            "alone": measured_alone(found),
            "witnesses": [(each, ((each.mask, 1),)) for each in witnesses_of(found)],
            "predicted_by": predicted_by,
            "sort": str(order),
            "page": page,
            "experiments": experiments,
            "panels": shown_panels(request, PanelPlace.SCHEME, found),
        },
    )


def _predicted_by(request: HttpRequest, said: list[MappingSaid]) -> PortMapping | None:
    """The mapping that the address names, else the newest that describes the scheme."""
    describing = {each.mapping.pk: each.mapping for each in said if each.uops is not None}
    wanted = whole_number(request, "mapping")
    if wanted is None:
        return next(iter(describing.values()), None)
    return describing.get(wanted) or get_object_or_404(PortMapping.objects.none(), pk=wanted)


def _row(said: MappingSaid) -> dict[str, Any]:
    residual = said.residual
    if residual is None:
        return {"said": said}
    url = f"{evaluation_url(residual.evaluation)}&scheme="
    return {"said": said, "error": residual.error, "on": source_label(residual.evaluation), "url": url}


def scheme_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The measurements that contain the scheme as a file that can be imported."""
    found = get_object_or_404(InstructionScheme.objects.select_related("isa"), pk=pk)
    text = write_scheme_csv(found.text, found.isa.name, *shortest_measured(found))
    return file_answer(text, "text/csv", f"{found.text} experiments", "csv")


class DocumentForm(StrictForm):
    document = forms.FileField(
        label="Instruction set (JSON)",
        help_text="In the format that docs/formats.md describes. A set of the same name is updated: what "
        "refers to its schemes stays.",
        widget=forms.ClearableFileInput(attrs={"accept": ".json,application/json"}),
    )

    def clean_document(self) -> UploadedFile[bytes]:
        """Refuse what is too large for a page."""
        given: UploadedFile[bytes] = self.cleaned_data["document"]
        if given.size is None or given.size > BYTES_AT_ONCE:
            raise forms.ValidationError(
                f"This page takes documents of up to {BYTES_AT_ONCE >> 20} MiB; larger ones are for the "
                "shell: manage.py load-isa FILE"
            )
        return given


def isa_load(request: HttpRequest) -> HttpResponse:
    """Ask for a document; load it and show the set, or say what is wrong with it."""
    form = DocumentForm(request.POST, request.FILES) if request.method == "POST" else DocumentForm()
    if form.is_bound and form.is_valid():
        try:
            isa = load_document(form.cleaned_data["document"].read())
        except ExchangeError as error:
            form.add_error("document", str(error))
        else:
            return redirect("isa", pk=isa.pk)
    return render(
        request, "inference/schemes/isa_load.html", {"form": form}, status=400 if form.is_bound else 200
    )


urlpatterns = [
    path("isas/", isas, name="isas"),
    path("isas/<int:pk>/", isa, name="isa"),
    path("schemes/<int:pk>/", scheme, name="scheme"),
    path("schemes/<int:pk>/experiments.csv", scheme_csv, name="scheme-csv"),
    path("isas/load/", isa_load, name="isa-load"),
]
