"""Comparisons of predictors: the list, and the page of each with its scores, maps and biases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.judging.accuracy import AccuracyJudgement
from inference.core.metrics import Scores, Unit
from inference.core.protocols import Json
from inference.features.judging.engine.bias_tab import Strong, bias_tab, strong_biases
from inference.features.judging.engine.query import (
    ComparisonPart,
    answered_in,
    axis_limit,
    columns_of,
    comparison_rows,
    heat_map_of,
    heat_maps_of,
    in_bin,
    length_maps_of,
    scores_of,
    selected,
    verdict_of,
)
from inference.features.judging.engine.request import ALL_KINDS
from inference.features.judging.engine.result_tables import result_tables
from inference.features.judging.engine.selection import (
    choice_of,
    column_in,
    filter_context,
    selectable,
    threshold_in,
)
from inference.features.judging.engine.sources import SourceKind
from inference.features.judging.engine.tables import page_cells
from inference.features.judging.engine.view_values import ViewQuestion
from inference.features.judging.engine.views import VIEWS
from inference.features.running.runs.query import newest_runs
from inference.figures.heatmap import HeatMap
from inference.isa.search import SearchError
from inference.models import BlockColumn, ComparedColumn, Comparison, Run
from inference.web.menus import MenuPlace, entries_of
from inference.web.requests import chosen_bin, one_of


def comparisons(request: HttpRequest) -> HttpResponse:
    """All of them, or those that runs of a `kind` have made, newest first."""
    kind = one_of(request, "kind", ("", *ALL_KINDS), "")
    context = newest_runs(request, kind or ALL_KINDS, "config", "note")
    rows = [(run, _best(run)) for run in context["page"].rows]
    return render(request, "inference/engine/list.html", {**context, "kind": kind, "rows": rows})


def _best(run: Run) -> tuple[str, float] | None:
    """The predictor with the smallest error in cycles, and that error."""
    scores = [one for one in run.result.get("scores", ()) if one["mape"] is not None]
    best = min(scores, key=lambda one: one["mape"], default=None)
    return None if best is None else (best["name"], best["mape"])


MOST_JUDGED_AT_ONCE = 200_000
"""Answers up to which all columns of a part are judged for their table."""

TABS = (("scores", "Scores"), ("map", "Heat map"), ("schemes", "Bias by scheme"))
_FIELDS_OF_PART = (
    *("unit", "q", "ext", "category", "among", "of", "shortest", "longest", "common", "colours"),
    *("against", "bound", "apart", "threshold", "metric"),
)


@dataclass(frozen=True)
class ScoreRow:
    """A predictor in the table of scores."""

    column: ComparedColumn
    scores: Scores
    answered: int
    of: int
    url: str
    map_url: str
    strong: Strong
    verdict: AccuracyJudgement | None

    @property
    def coverage(self) -> float | None:
        """The share of the experiments that it has a number for, in per cent."""
        return 100 * self.answered / self.of if self.of else None


@dataclass(frozen=True)
class SmallMap:
    """A small heat map, drawn from the `place`th of the page's figures."""

    place: int
    title: str
    scores: Scores
    url: str


def comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """One comparison, by the number of its run: its tables once it is done."""
    run = get_object_or_404(Run, pk=pk, kind__in=ALL_KINDS)
    row = comparison_rows().filter(run=run).first()
    context: dict[str, Any] = {"run": run, "working": run.state not in Run.FINAL}
    if row is None:
        context["earlier"] = list(map(page_cells, result_tables(run.result)))
        return render(request, "inference/engine/comparison.html", context)
    views = {name: view for name, view in VIEWS.items() if view.has_page and view.suits(row)}
    tab = one_of(request, "tab", (*(key for key, _ in TABS), *views), "scores")
    columns = columns_of(row)
    tabs = [*TABS, *((name, view.label) for name, view in views.items())]
    context |= {"comparison": row, "tab": tab, "tabs": _tabs(request, tabs), "columns": columns}
    context["selectable"] = selectable(request, columns)
    context["columns_asked"] = [column for column in columns if column.predictor is not None]
    try:
        choice = choice_of(request, row)
    except SearchError as error:
        shown = {"filter_error": str(error), "unit": Unit.CYCLES.value, "unit_label": Unit.CYCLES.label}
        context |= {**filter_context(request, row), **shown}
        return render(request, "inference/engine/comparison.html", context, status=400)
    context |= {
        **filter_context(request, row),
        "unit": choice.unit.value,
        "unit_label": choice.unit.label,
        "selected": selected(row, choice.selection),
        "everything": choice.selection.is_all,
        "kept": _kept(request),
        "tab_template": f"inference/engine/tab_{'view' if tab in views else tab}.html",
        **(_view_tab if tab in views else _FILLED[tab])(request, row, columns, choice),
    }
    return render(request, "inference/engine/comparison.html", context)


def _kept(request: HttpRequest, **changed: object) -> str:
    """The part of the address that says which experiments are shown how, with other fields changed."""
    fields: dict[str, Any] = {name: request.GET[name] for name in _FIELDS_OF_PART if request.GET.get(name)}
    return urlencode({**fields, **changed})


def _tabs(request: HttpRequest, tabs: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    at = {"column": request.GET["column"]} if request.GET.get("column", "").isdecimal() else {}
    return [(key, label, "?" + _kept(request, tab=key, **at)) for key, label in tabs]


def _scores_tab(
    request: HttpRequest, row: Comparison, columns: Sequence[ComparedColumn], choice: ComparisonPart
) -> dict[str, Any]:
    """The table (thesis Tables 5.3, 5.4, 6.3), and the maps beside each other (Figure 6.3)."""
    of = selected(row, choice.selection)
    verdicts = _verdicts(row, columns, choice)
    lines = []
    for column in selectable(
        request, columns
    ):  # all of one column at once: the points of all of them are not kept
        axis_limit(column, choice)
        lines.append(
            ScoreRow(
                column,
                scores_of(column, choice),
                answered_in(column, choice),
                of,
                source_url(column),
                "?" + _kept(request, tab="map", column=column.position),
                strong_biases(request, column, choice),
                verdicts.get(column.position),
            )
        )
    drawn = [line for line in lines if line.scores.n]
    maps = heat_maps_of([line.column for line in drawn], choice)
    panels = [
        SmallMap(place, line.column.name, line.scores, line.map_url) for place, line in enumerate(drawn)
    ]
    address = reverse("comparison-scores-csv", args=[row.run_id])
    return {
        "lines": lines,
        "best": min((line.scores.mape for line in lines if line.scores.mape is not None), default=None),
        "panels": panels,
        "small_maps": _small_maps(request, maps, choice.unit),
        "csv_url": f"{address}?{_kept(request)}",
    }


def _verdicts(
    row: Comparison, columns: Sequence[ComparedColumn], choice: ComparisonPart
) -> dict[int, AccuracyJudgement | None]:
    """{position: verdict} of the columns, where they are stored or quick to find."""
    if not choice.is_all and row.n * len(columns) > MOST_JUDGED_AT_ONCE:
        return {}
    return {column.position: verdict_of(columns, column, choice) for column in columns}


def _view_tab(
    request: HttpRequest, row: Comparison, columns: Sequence[ComparedColumn], choice: ComparisonPart
) -> dict[str, Any]:
    """A view that is tables."""
    column = column_in(request, columns)
    view = VIEWS[request.GET["tab"]]
    question = ViewQuestion(row, columns, column, choice, **threshold_in(request))
    return {
        "column": column,
        "view": view,
        "pair_menu": entries_of(MenuPlace.PREDICTOR_PAIR),
        "pair": _predictors_of_pair(question) if view.name == "telling" else (),
        "view_tables": list(map(page_cells, view.tables(question))),
    }


def _predictors_of_pair(question: ViewQuestion) -> tuple[int, ...]:
    """The ids of the predictors that answered for both columns; () where one of them came otherwise."""
    against = question.part.against
    kind, _, number = question.row.against.partition(":")
    fields = ("predictor", "block_column__predictor")
    columns = ComparedColumn.objects.filter(comparison=question.row)
    pairs = dict(columns.values_list("position", Coalesce(*fields)))
    reference = pairs.get(against) if against is not None else None
    if against is None and kind == SourceKind.PREDICTOR:
        reference = int(number)
    elif against is None and kind == SourceKind.COLUMN:
        reference = BlockColumn.objects.filter(pk=number).values_list("predictor", flat=True).first()
    own = pairs.get(question.column.position)
    return (reference, own) if reference is not None and own is not None else ()


def _map_tab(
    request: HttpRequest, row: Comparison, columns: Sequence[ComparedColumn], choice: ComparisonPart
) -> dict[str, Any]:
    """One predictor: its map with the experiments of a bin, and its maps by length (Figure 3.7)."""
    column = column_in(request, columns)
    drawn = heat_map_of(column, choice)
    place = chosen_bin(request, drawn.bins)
    rows, total = in_bin(column, choice, place)
    several = len(row.lengths) > 1
    by_length = length_maps_of(column, choice) if several else []
    panels = [
        SmallMap(
            place_of,
            f"{each.length} instruction{'' if each.length == 1 else 's'}",
            each.scores,
            "?"
            + _kept(request, tab="map", column=column.position, shortest=each.length, longest=each.length),
        )
        for place_of, each in enumerate(by_length)
    ]
    linear = request.GET.get("colours") == "linear"
    return {
        "column": column,
        "source_url": source_url(column),
        "verdict": verdict_of(columns, column, choice),
        "scores": scores_of(column, choice),
        "heat_map": {"figure": drawn.figure(choice.unit, linear=linear)},
        "bin_rows": rows,
        "bin_total": total,
        "bin": None if place is None else (drawn.bounds(place[1]), drawn.bounds(place[0])),
        "pinned_mapping": column.mapping_id,
        "panels": panels if len(panels) > 1 else [],
        "small_maps": _small_maps(request, [each.heat_map for each in by_length], choice.unit),
    }


def _small_maps(request: HttpRequest, maps: Sequence[HeatMap], unit: Unit) -> Json:
    """The figures of small maps, which share one scale of colours."""
    peak = max((drawn.peak for drawn in maps), default=1)
    linear = request.GET.get("colours") == "linear"
    return {"figures": [drawn.figure(unit, peak=peak, linear=linear) for drawn in maps], "peak": peak}


_FILLED: dict[
    str, Callable[[HttpRequest, Comparison, Sequence[ComparedColumn], ComparisonPart], dict[str, Any]]
] = {
    "scores": _scores_tab,
    "map": _map_tab,
    "schemes": bias_tab,
}


def source_url(column: ComparedColumn) -> str:
    """The page of what a column comes from, "" where there is none."""
    for name, pk in (
        ("block-set", column.comparison.block_set_id if column.block_column_id else None),
        ("mapping", column.mapping_id),
        ("resource-mapping", column.resource_mapping_id),
        ("set", column.experiment_set_id),
    ):
        if pk is not None:
            return reverse(name, args=[pk])
    return reverse("predictors") if column.predictor_id is not None else ""


urlpatterns = [
    path("comparisons/", comparisons, name="comparisons"),
    path("comparisons/<int:pk>/", comparison, name="comparison"),
]
