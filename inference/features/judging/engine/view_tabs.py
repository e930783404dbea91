"""The views of a comparison on its own page, or in a tab of another page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from django.core.exceptions import BadRequest
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import Truncator

from inference.core.evaluator import predicted_cycles
from inference.core.experiment import Experiment, Unit
from inference.core.judging.accuracy import AccuracyJudgement, OtherCore, grade_order, verdict_summary
from inference.core.metrics import Scores
from inference.core.misfits import CommonPart, common_part
from inference.core.tables import ExperimentTable
from inference.core.texts import count_of
from inference.features.judging.engine.bias_tab import StrongBiases, bias_tab, strong_biases
from inference.features.judging.engine.query import (
    PredictedBlock,
    PredictedExperiment,
    ViewQuestion,
    answered_count,
    axis_limit,
    columns_of,
    heat_map_of,
    heat_maps_of,
    items_in_bin,
    length_maps_of,
    scores_of,
    selected_count,
    verdict_of,
)
from inference.features.judging.engine.sources import SourceKind
from inference.features.judging.engine.tables import csv_of, page_cells
from inference.features.judging.engine.view_addresses import (
    HEAT_MAP,
    filter_context,
    host_fields,
    part_fields,
    requested_part,
    requested_question,
    selectable_columns,
    view_name,
    view_url,
)
from inference.features.judging.engine.views import VIEWS
from inference.figures.heatmap import HeatMap
from inference.isa.search import SearchError
from inference.models import BlockColumn, ComparedColumn, Comparison, Measurement
from inference.storage.mappings import load_model
from inference.web.contributions import MenuPlace, entries_of
from inference.web.published_page import PublishedTable
from inference.web.validation import bin_parameter

MAX_ROWS = 500
"""Rows of a table on a page; files have all of them."""
MAX_JUDGED_AT_ONCE = 200_000
"""Answers up to which the table of scores has verdicts on a part of the items."""


@dataclass(frozen=True)
class ScoreRow:
    """A predictor in the table of scores; `of`: the number of selected items."""

    column: ComparedColumn
    scores: Scores
    answered: int
    of: int
    url: str
    map_url: str
    strong: StrongBiases
    verdict: AccuracyJudgement | OtherCore | None

    @property
    def repeats(self) -> bool:
        """Whether it measures the reference once more, which no prediction can be closer to."""
        return bool(self.column.summary.get("repeats", self.column.kind == ComparedColumn.Kind.SET))

    @property
    def coverage(self) -> float | None:
        """Per cent of the items with a number; None without items."""
        return 100 * self.answered / self.of if self.of else None


@dataclass(frozen=True)
class SmallMap:
    """A small heat map, the `place`th of the page's figures; `verdict`: None for a repeated measurement."""

    place: int
    title: str
    scores: Scores
    url: str
    verdict: AccuracyJudgement | OtherCore | Scores | None = None


def views_context(request: HttpRequest, row: Comparison, usual: str) -> dict[str, Any]:
    """The context of the view in the address, else of the `usual` one, with the form and links to other
    views.

    Its links keep the parameters of the page that has the views as a tab.
    """
    columns = columns_of(row)
    labels = {name: VIEWS[name].label if name in VIEWS else "Heat map" for name in _PAGE_VIEWS}
    labels |= {name: view.label for name, view in VIEWS.items() if view.has_page and view.applies(columns)}
    name = view_name(request, tuple(labels), usual)
    at = {"column": request.GET["column"]} if request.GET.get("column", "").isdecimal() else {}
    context: dict[str, Any] = {
        "comparison": row,
        "view_name": name,
        "view_links": [(key, label, view_url(request, key, at)) for key, label in labels.items()],
        "columns": columns,
        "selectable": selectable_columns(request, columns),
        "host_fields": host_fields(request),
        **filter_context(request, row),
    }
    try:
        part = requested_part(request, row)
    except SearchError as error:
        unit_context = {"unit": Unit.CYCLES.value, "unit_label": Unit.CYCLES.label}
        return {**context, **unit_context, "filter_error": str(error)}
    question = requested_question(request, row, part)
    return {
        **context,
        "column": question.column,
        "unit": part.unit.value,
        "unit_label": part.unit.label,
        "selected": selected_count(row, part.selection),
        "everything": part.selection.is_all,
        "all_items_url": view_url(request, name, {"unit": part.unit.value, **at}, part=False),
        "kept": urlencode(part_fields(request)),
        "view_template": f"inference/engine/tab_{name if name in _PAGE_VIEWS else 'view'}.html",
        **_PAGE_VIEWS.get(name, _tables)(request, question),
    }


def view_csv(request: HttpRequest, row: Comparison, name: str, head: str) -> str:
    """The requested view as CSV below the comments in `head`. Raises `BadRequest`."""
    try:
        question = requested_question(request, row, requested_part(request, row))
    except SearchError as error:
        raise BadRequest(str(error)) from error
    return csv_of(VIEWS[name].tables(question)[0], head)


def _scores(request: HttpRequest, question: ViewQuestion) -> dict[str, Any]:
    """The table (thesis Tables 5.3, 5.4, 6.3), and the maps beside each other (Figure 6.3)."""
    part, count = question.part, selected_count(question.row, question.part.selection)
    is_quick = part.is_all or question.row.n * len(question.columns) <= MAX_JUDGED_AT_ONCE
    lines = []
    for column in selectable_columns(
        request, question.columns
    ):  # all numbers of a column in a row, since few points are cached
        axis_limit(column, part)
        lines.append(
            ScoreRow(
                column,
                scores_of(column, part),
                answered_count(column, part),
                count,
                source_url(column),
                view_url(request, HEAT_MAP, {"column": column.position}),
                strong_biases(request, column, part),
                verdict_of(question.columns, column, part) if is_quick else None,
            )
        )
    answering = [line for line in lines if line.scores.n]
    maps = heat_maps_of([line.column for line in answering], part)
    panels = [
        SmallMap(place, line.column.name, line.scores, line.map_url, None if line.repeats else line.verdict)
        for place, line in enumerate(answering)
    ]
    errors = (line.scores.mape for line in lines if line.scores.mape is not None)
    small_maps = _small_maps(request, maps, part.unit)
    repeat_lines = [line for line in lines if line.repeats]
    judged = sorted(
        (line for line in lines if line.verdict and not line.repeats),
        key=lambda line: grade_order(line.verdict, line.scores.mape),
    )
    return {
        "lines": lines,
        "least_error": min(errors, default=None),
        "judged": judged,
        "summary": verdict_summary([line.verdict for line in judged if line.verdict]),
        "again": repeat_lines[0] if repeat_lines else None,
        "panels": panels,
        **small_maps,
    }


def _tables(request: HttpRequest, question: ViewQuestion) -> dict[str, Any]:
    view = VIEWS[view_name(request, tuple(VIEWS), "")]
    return {
        "view": view,
        "csv_url": _csv_url(request, question, view.name),
        "pair_menu": entries_of(MenuPlace.PREDICTOR_PAIR),
        "pair": _predictors_of_pair(question) if view.name == "telling" else (),
        "view_tables": [page_cells(_first_rows(table)) for table in view.tables(question)],
    }


def _first_rows(table: PublishedTable) -> PublishedTable:
    if len(table.rows) <= MAX_ROWS:
        return table
    note = f"{table.note} The first {MAX_ROWS:,} of {len(table.rows):,} rows.".strip()
    return replace(table, rows=table.rows[:MAX_ROWS], note=note)


def _csv_url(request: HttpRequest, question: ViewQuestion, name: str) -> str:
    """The URL of the view as CSV; "" without one."""
    row, fields = question.row, part_fields(request) | {"column": str(question.column.position)}
    if row.unsaved is None:
        return f"{reverse('comparison-view-csv', args=[row.run_id, name])}?{urlencode(fields)}"
    base = row.unsaved.csv_address
    return base and f"{base}&{urlencode({'view': name, **fields})}"


def _predictors_of_pair(question: ViewQuestion) -> tuple[int, ...]:
    """The ids of the predictors of the column and the reference; () unless both are predictors."""
    against = question.part.against
    kind, _, number = question.row.against.partition(":")
    columns = ComparedColumn.objects.filter(comparison=question.row)
    predictor = Coalesce("predictor", "block_column__predictor")
    predictors = dict(columns.values_list("position", predictor))
    reference = None if against is None else predictors.get(against)
    if against is None and kind == SourceKind.PREDICTOR:
        reference = int(number)
    elif against is None and kind == SourceKind.COLUMN:
        reference = BlockColumn.objects.filter(pk=number).values_list("predictor", flat=True).first()
    column_predictor = predictors.get(question.column.position)
    return (reference, column_predictor) if reference is not None and column_predictor is not None else ()


def _map(request: HttpRequest, question: ViewQuestion) -> dict[str, Any]:
    """A predictor's heat map with the experiments of a bin, and its maps by length (Figure 3.7)."""
    column, part = question.column, question.part
    column_map = heat_map_of(column, part)
    place = bin_parameter(request, column_map.bins)
    rows, total = items_in_bin(column, part, place)
    by_length = length_maps_of(column, part) if len(question.row.lengths) > 1 else []
    panels = [
        SmallMap(
            at,
            count_of(length_map.length, "instruction"),
            length_map.scores,
            view_url(
                request,
                HEAT_MAP,
                {"column": column.position, "shortest": length_map.length, "longest": length_map.length},
            ),
            length_map.scores,
        )
        for at, length_map in enumerate(by_length)
    ]
    linear = request.GET.get("colours") == "linear"
    across, up = _axes(question)
    return {
        "across": across,
        "up": up,
        "source_url": source_url(column),
        "verdict": verdict_of(question.columns, column, part),
        "scores": scores_of(column, part),
        "heat_map": {"figure": column_map.figure(part.unit, linear=linear, axes=(across, up))},
        "bin_rows": rows,
        "bin_total": total,
        "bin": None if place is None else (column_map.bounds(place[1]), column_map.bounds(place[0])),
        "bin_common": None if place is None else common_in(column, rows),
        "pinned_mapping": column.mapping_id,
        "panels": panels if len(panels) > 1 else [],
        **_small_maps(request, [length_map.heat_map for length_map in by_length], part.unit),
    }


def _axes(question: ViewQuestion) -> tuple[str, str]:
    """The names of the axes of a heat map: across, up."""
    is_measured = question.column.kind == ComparedColumn.Kind.SET
    up = question.column.name if is_measured else "predicted"
    return Truncator(question.reference).chars(40), Truncator(up).chars(40)


def _small_maps(request: HttpRequest, maps: Sequence[HeatMap], unit: Unit) -> dict[str, Any]:
    """The figures of small heat maps with a common colour scale."""
    peak = max((small_map.peak for small_map in maps), default=1)
    linear = request.GET.get("colours") == "linear"
    figures = [small_map.figure(unit, peak=peak, linear=linear) for small_map in maps]
    return {"small_maps": {"figures": figures, "peak": peak}}


@dataclass(frozen=True)
class BinCommon:
    """What experiments have in `common`; if that is one scheme, its cycles alone, `measured` in the same set
    (else on the same machine) and `predicted`.
    """

    common: CommonPart
    measured: float | None = None
    predicted: float | None = None


def common_in(
    column: ComparedColumn, rows: Sequence[PredictedExperiment | PredictedBlock]
) -> BinCommon | None:
    """What listed experiments have in common; None for nothing."""
    values = [row.stored.value for row in rows if isinstance(row, PredictedExperiment)]
    common = common_part([(value.experiment, value.cycles) for value in values if value.cycles is not None])
    if common is None or len(common.schemes) > 1:
        return None if common is None else BinCommon(common)
    comparison = column.comparison
    settled = Measurement.objects.filter(
        experiment__isa=comparison.isa_id,
        experiment__length=1,
        experiment__terms__scheme__text=common.schemes[0],
        state=Measurement.State.SETTLED,
    )
    of_machine = settled.filter(experiment_set=comparison.experiment_set_id)
    machine = None if comparison.experiment_set is None else comparison.experiment_set.machine_id
    if machine is not None and not of_machine.exists():
        of_machine = settled.filter(experiment_set__machine=machine)
    cycles = [value for value in of_machine.values_list("cycles", flat=True) if value]
    mapping = column.mapping or column.resource_mapping
    predicted = np.full(1, np.nan)
    if mapping is not None:
        alone = ExperimentTable.from_experiments([Experiment.of(common.schemes)])
        predicted = predicted_cycles(load_model(mapping), alone)
    return BinCommon(
        common, median(cycles) if cycles else None, None if np.isnan(predicted[0]) else float(predicted[0])
    )


_PAGE_VIEWS: dict[str, Callable[[HttpRequest, ViewQuestion], dict[str, Any]]] = {
    "scores": _scores,
    HEAT_MAP: _map,
    "schemes": bias_tab,
}
"""{view: its context} of the views that are more than tables."""


def source_url(column: ComparedColumn) -> str:
    """The page of a column's source, "" without one."""
    for name, pk in (
        ("block-set", column.comparison.block_set_id if column.block_column_id else None),
        ("mapping", column.mapping_id),
        ("resource-mapping", column.resource_mapping_id),
        ("set", column.experiment_set_id),
    ):
        if pk is not None:
            return reverse(name, args=[pk])
    return reverse("predictors") if column.predictor_id is not None else ""
