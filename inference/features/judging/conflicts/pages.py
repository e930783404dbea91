"""The matrix of conflicts in a set of experiments: who competes with whom, before any inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.core.arrays import Floats
from inference.core.protocols import Json
from inference.features.judging.conflicts.query import (
    ConflictPair,
    SetConflicts,
    conflicts_in,
    write_pairs_csv,
)
from inference.features.judging.conflicts.request import ConflictsBy, ConflictsRequest
from inference.figures.conflicts import conflict_figure
from inference.isa.search import SearchError
from inference.models import ExperimentSet
from inference.web.file_answers import table_answer
from inference.web.requests import whole_number
from inference.web.validation import read

LISTED = 60
"""Pairs of a scheme, or of two classes, that are listed."""


def set_conflicts(request: HttpRequest, pk: int) -> HttpResponse:
    """The matrix, and the experiments behind the cell or the row that the address names."""
    found = get_object_or_404(ExperimentSet.objects.select_related("isa", "machine"), pk=pk)
    asked = read(ConflictsRequest, request.GET)
    context: dict[str, Any] = {"set": found, "asked": asked, "by": [each.value for each in ConflictsBy]}
    try:
        conflicts = conflicts_in(found, asked)
    except SearchError as error:
        return render(request, _TEMPLATE, {**context, "error": str(error)}, status=400)
    return render(request, _TEMPLATE, {**context, **_shown(request, conflicts, asked.by)})


_TEMPLATE = "inference/conflicts/conflicts.html"


def set_conflicts_csv(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(ExperimentSet.objects.select_related("isa"), pk=pk)
    asked = read(ConflictsRequest, request.GET)
    try:
        text = write_pairs_csv(conflicts_in(found, asked))
    except SearchError as error:
        raise Http404(str(error)) from error
    return table_answer(text, f"{found.name} conflicts", **{"experiment set": found.name})


@dataclass(frozen=True)
class ConflictClass:
    """A row of the matrix, or a class: the row ids and texts of its schemes."""

    schemes: tuple[tuple[int, str], ...]

    @property
    def label(self) -> str:
        """The first, and how many others."""
        first, more = self.schemes[0][1], len(self.schemes) - 1
        return f"{first} + {more}" if more else first


def _shown(request: HttpRequest, found: SetConflicts, by: ConflictsBy) -> dict[str, Any]:
    members, shares = found.rows(by)
    rows = [ConflictClass(tuple((found.ids[scheme], scheme) for scheme in each)) for each in members]
    classes = [
        ConflictClass(tuple((found.ids[scheme], scheme) for scheme in each)) for each in found.matrix.classes
    ]
    return {
        "conflicts": found,
        "pairs": len(found.conflicts.pairs),
        "rows": rows,
        "classes": classes,
        "figure": _figure(rows, classes, shares) if rows else None,
        **_chosen(request, found, rows),
    }


def _figure(rows: list[ConflictClass], classes: list[ConflictClass], shares: Floats) -> Json:
    """`sizes`: rows of each class, one after the other."""
    sizes = [1] * len(rows) if len(rows) == len(classes) else [len(each.schemes) for each in classes]
    figure = conflict_figure([row.label for row in rows], shares)
    return {"figure": figure, "ids": [row.schemes[0][0] for row in rows], "sizes": sizes}


def _chosen(request: HttpRequest, found: SetConflicts, rows: list[ConflictClass]) -> dict[str, Any]:
    """The row, or the cell of two rows, that the address names by a scheme of each."""
    first, second = (_row(rows, whole_number(request, name)) for name in ("first", "second"))
    if first is None:
        return {}
    if second is None or (second == first and len(first.schemes) == 1):
        (_, scheme), *_rest = first.schemes
        listed = found.pairs_of(scheme)
        return {"first": first, "alone": found.alone(scheme), **_listed(listed)}
    between = found.pairs_between(*([text for _, text in each.schemes] for each in (first, second)))
    return {"first": first, "second": second, **_listed(between)}


def _listed(pairs: list[ConflictPair]) -> dict[str, Any]:
    return {"listed": pairs[:LISTED], "total": len(pairs)}


def _row(rows: list[ConflictClass], scheme: int | None) -> ConflictClass | None:
    if scheme is None:
        return None
    for row in rows:
        if any(pk == scheme for pk, _ in row.schemes):
            return row
    raise Http404(f"scheme {scheme} is in no pair of this matrix")


urlpatterns = [
    path("sets/<int:pk>/conflicts/", set_conflicts, name="set-conflicts"),
    path("sets/<int:pk>/conflicts/csv/", set_conflicts_csv, name="set-conflicts-csv"),
]
