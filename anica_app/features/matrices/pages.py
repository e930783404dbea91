"""The addresses that matrices had: their pages are those of any comparison."""

from __future__ import annotations

from itertools import combinations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode

from anica_app.features.matrices.job import KIND
from anica_app.features.matrices.random_blocks_page import random_blocks
from inference.core.protocols import Json
from inference.features.judging.engine.addresses import (
    comparison_address,
    limit_query,
    pair_query,
    to_list,
)
from inference.formats.quoting import written
from inference.models import Comparison, Run
from inference.web.file_answers import table_answer
from inference.web.requests import whole_number


def matrix(request: HttpRequest, pk: int) -> HttpResponse:
    """The matrix of a comparison, by its own threshold."""
    run = get_object_or_404(Run, pk=pk, kind=KIND)
    return redirect(comparison_address(run.pk, view="matrix", **limit_query(**_interest(run))))


def _interest(run: Run) -> Json:
    return {name: run.config["interest"][name] for name in ("metric", "threshold")}


def matrix_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """All pairs as a table."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    names = [column["name"] for column in run.result["columns"]]
    pairs = combinations(range(len(names)), 2)
    counts = ((at, run.result["both"][at[0]][at[1]], run.result["differing"][at[0]][at[1]]) for at in pairs)
    lines = [
        (names[first], names[second], both, differing, differing / both if both else None)
        for (first, second), both, differing in counts
    ]
    head = ("first", "second", "blocks", "differing", "share")
    return table_answer(written(head, lines), run.name, matrix=run.name)


def matrix_cell(request: HttpRequest, pk: int, first: int, second: int) -> HttpResponse:
    """The smallest blocks that tell two tools apart; the form for a comparison where there is none yet."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    heads = run.result["columns"]
    if first == second or max(first, second) >= len(heads):
        raise Http404("there is no such pair of tools")
    if Comparison.objects.filter(run=run).exists():
        return redirect(comparison_address(run.pk, **pair_query(first, second, **_interest(run))))
    query = {
        "items": f"blocks:{run.result['block_set']}",
        "source": f"column:{heads[second]['id']}",
        "against": f"column:{heads[first]['id']}",
    }
    return redirect(f"{reverse('comparison-new')}?{urlencode(query)}")


def matrix_new(request: HttpRequest) -> HttpResponse:
    """The form for random blocks, or where the address names a `set` that for any comparison."""
    block_set = whole_number(request, "set")
    if block_set is None:
        return random_blocks(request)
    return redirect(f"{reverse('comparison-new')}?{urlencode({'items': f'blocks:{block_set}'})}")


urlpatterns = [
    path("campaigns/matrices/", to_list(KIND), name="matrices"),
    path("campaigns/matrices/<int:pk>/", matrix, name="matrix"),
    path("campaigns/matrices/<int:pk>/table.csv", matrix_csv, name="matrix-csv"),
    path("campaigns/matrices/<int:pk>/<int:first>/<int:second>/", matrix_cell, name="matrix-cell"),
    path("campaigns/matrices/new/", matrix_new, name="matrix-new"),
]
