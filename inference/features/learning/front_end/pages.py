"""Pages of front ends: the list, one with its numbers and figures, and the action that measures one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.compared_codes import FusionPair
from inference.features.learning.front_end.query import (
    COLUMNS,
    HEADLINES,
    evidence,
    front_end_of,
    front_ends,
    issue_of,
    newest_front_end,
)
from inference.features.library.mappings.query import MappingSubject
from inference.features.machines.machines.query import machines
from inference.figures.front_ends import length_figure_of_front_end, offset_figure, rate_figure
from inference.models import Machine, MeasuredFrontEnd, Run
from inference.web.contributions import Context, PagePanel, PanelPlace
from inference.web.naming import naming_paths
from inference.web.paging import Page, list_page
from inference.web.request_fields import NOT_STARTED, start_run

LISTED = ("slots", "straight_instructions", "straight_bytes", "loop_capacity")
"""Columns of the list."""


def front_ends_page(request: HttpRequest) -> HttpResponse:
    """Lists front ends, newest first, filtered by name or note."""

    def context(page: Page[MeasuredFrontEnd]) -> dict[str, Any]:
        read = [(row, front_end_of(row)) for row in page.rows]
        return {"rows": [(row, [front_end.number(name) for name in LISTED]) for row, front_end in read]}

    return list_page(request, "inference/front_end/list.html", front_ends, COLUMNS, "-created", context)


def front_end(request: HttpRequest, pk: int) -> HttpResponse:
    """A front end: its numbers with the timed codes, and figures."""
    row = get_object_or_404(front_ends(), pk=pk)
    measured = front_end_of(row)
    conditions, comparisons = _fusion_table(measured.fusion)
    operations, moves = _fusion_table(measured.moves)
    context = {
        "row": row,
        "front_end": measured,
        "numbers": [(number, evidence(number, row.isa.name)) for number in measured.numbers],
        "rate_figure": rate_figure(measured.rates),
        "length_figure": length_figure_of_front_end(measured.loop_lengths, measured.straight_lengths)
        if len(measured.loop_lengths) > 1
        else None,
        "offset_figure": offset_figure(measured.offsets) if measured.offsets else None,
        "conditions": conditions,
        "comparisons": comparisons,
        "operations": operations,
        "moves": moves,
        "unsettled": sum(reading["cycles"] is None for reading in row.readings),
    }
    return render(request, "inference/front_end/front_end.html", context)


def _fusion_table(
    pairs: tuple[FusionPair, ...],
) -> tuple[list[str], list[tuple[str, list[FusionPair | None]]]]:
    """(branch conditions, [(comparison, its pair with each condition, None if not measured)])."""
    by_comparison: dict[str, dict[str, FusionPair]] = defaultdict(dict)
    for pair in pairs:
        comparison, _, condition = pair.name.partition(" + ")
        by_comparison[comparison][condition] = pair
    conditions = list(dict.fromkeys(name for row in by_comparison.values() for name in row))
    return conditions, [
        (comparison, [row.get(condition) for condition in conditions])
        for comparison, row in by_comparison.items()
    ]


def front_end_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts the run and redirects to it; if one is unfinished, redirects to that."""
    machine = get_object_or_404(machines(), pk=pk)
    runs = Run.objects.filter(kind="front-end", config__machine=pk).exclude(state__in=Run.FINAL)
    config = {"machine": machine.pk}
    run = runs.first() or start_run(request, "front-end", config, lead=NOT_STARTED)
    return redirect("machine", pk=pk) if run is None else redirect("run", pk=run.pk)


urlpatterns = [
    path("front-ends/", front_ends_page, name="front-ends"),
    path("front-ends/<int:pk>/", front_end, name="front-end"),
    *naming_paths(MeasuredFrontEnd, "front-end", "front-ends"),
    path("machines/<int:pk>/front-end/", front_end_measure, name="front-end-measure"),
]


def _of_machine(_request: HttpRequest, machine: Machine) -> Context | None:
    newest = newest_front_end(machine, HEADLINES)
    return None if newest is None else {"front_end": newest}


def _of_mapping(_request: HttpRequest, subject: MappingSubject) -> Context | None:
    machine = subject.row.machine
    issue = None if machine is None else issue_of(machine)
    return {"machine": machine} if issue is not None and issue.in_order else None


PANELS = (
    PagePanel(
        PanelPlace.BELOW_MAPPING, "issue order", "", "inference/front_end/issue_order.html", _of_mapping
    ),
    PagePanel(
        PanelPlace.MACHINE,
        "front end",
        "Front end",
        "inference/front_end/of_machine.html",
        _of_machine,
        order=10,
    ),
)
