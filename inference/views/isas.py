"""Instruction sets, and their scheme table with its search."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.isa.search import SearchError, names_avx512, parse_search
from inference.models import InstructionScheme
from inference.models.scheme_order import by_fit
from inference.models.scheme_search import AVX512, search_schemes, searched_schemes
from inference.queries.paging import Order, Page, page_of
from inference.queries.schemes import SCHEME_COLUMNS, instruction_sets

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
    """All instruction sets."""
    return render(request, "inference/isas.html", {"isas": instruction_sets()})


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
        "inference/isa.html",
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


urlpatterns = [
    path("isas/", isas, name="isas"),
    path("isas/<int:pk>/", isa, name="isa"),
]
