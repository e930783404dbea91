"""The page of a set's conflicts: pairs of experiments whose times no port mapping explains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.features.judging.engine.tables import csv_of, page_cells
from inference.features.judging.findings.conflicts import SetConflicts, conflicts_in, pairs_table
from inference.features.judging.findings.request import ConflictsBy, ConflictsRequest
from inference.figures.conflicts import conflict_figure
from inference.isa.search import SearchError
from inference.models import ExperimentSet
from inference.web.file_answers import table_answer
from inference.web.validation import number_parameter, read

MAX_PAIRS = 60
"""Listed pairs of a scheme, or of two classes."""


def set_conflicts(request: HttpRequest, pk: int) -> HttpResponse:
    """The conflict matrix, and the experiments of the cell or row in the address."""
    row = get_object_or_404(ExperimentSet.objects.select_related("isa", "machine"), pk=pk)
    conflicts_request = read(ConflictsRequest, request.GET)
    context: dict[str, Any] = {"set": row, "asked": conflicts_request, "by": [by.value for by in ConflictsBy]}
    try:
        context |= _conflicts_context(request, conflicts_in(row, conflicts_request), conflicts_request.by)
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
"""(row id, text) of the schemes of a matrix row, or of a class."""


def _conflicts_context(request: HttpRequest, conflicts: SetConflicts, by: ConflictsBy) -> dict[str, Any]:
    def numbered(members: Sequence[Sequence[str]]) -> list[NumberedSchemes]:
        return [[(conflicts.ids[text], text) for text in schemes] for schemes in members]

    members, shares = conflicts.rows(by)
    rows, classes = numbered(members), numbered(conflicts.matrix.classes)
    labels = [
        f"{first} + {len(equal_schemes)}" if equal_schemes else first for first, *equal_schemes in members
    ]
    figure = {
        "figure": conflict_figure(labels, shares),
        "ids": [schemes[0][0] for schemes in rows],
        # Rows of each class, one after the other.
        "sizes": [1] * len(rows) if len(rows) == len(classes) else list(map(len, classes)),
    }
    return {
        "conflicts": conflicts,
        "pairs": len(conflicts.conflicts.pairs),
        "members": rows,
        "classes": classes,
        "figure": figure,
        **_chosen_pairs(request, conflicts, rows),
    }


def _chosen_pairs(
    request: HttpRequest, conflicts: SetConflicts, rows: Sequence[NumberedSchemes]
) -> dict[str, Any]:
    """The pairs of the row or cell in the address, which names one scheme of each matrix row."""
    first, second = (_row(rows, number_parameter(request, name)) for name in ("first", "second"))
    if first is None:
        return {}
    if second is None or (second == first and len(first) == 1):
        pairs, second = conflicts.pairs_of(first[0][1]), None
    else:
        pairs = conflicts.pairs_between(*([text for _, text in schemes] for schemes in (first, second)))
    cells = page_cells(pairs_table(pairs[:MAX_PAIRS]))
    return {"first": first, "second": second, "total": len(pairs), **cells}


def _row(rows: Sequence[NumberedSchemes], scheme: int | None) -> NumberedSchemes | None:
    if scheme is None:
        return None
    for schemes in rows:
        if scheme in dict(schemes):
            return schemes
    raise Http404(f"scheme {scheme} is in no pair of this matrix")


urlpatterns = [
    path("sets/<int:pk>/conflicts/", set_conflicts, name="set-conflicts"),
    path("sets/<int:pk>/conflicts/csv/", set_conflicts_csv, name="set-conflicts-csv"),
]
