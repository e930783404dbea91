"""Matrices: the list, one with its cells, and the blocks behind a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from anica_app.core.search.judging import ABSOLUTE, RELATIVE, InterestSettings
from anica_app.features.matrices.job import KIND, MatrixConfig
from inference.core.protocols import Json
from inference.features.asking.block_sets.query import ORDERS, differing_blocks
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.query import Listed, chosen, listed
from inference.features.running.runs.query import newest_runs
from inference.formats.csv_cells import written
from inference.models import BasicBlockSet, BlockColumn, Predictor, Run
from inference.predictors.protocol import PredictorError
from inference.web.file_answers import table_answer
from inference.web.paging import Order
from inference.web.request_fields import RequestField, RunForm, describe_fields
from inference.web.requests import row_number, whole_number
from inference.web.run_forms import start_run

_SHADES = 8


@dataclass(frozen=True)
class ToolPair:
    """Two tools: how many of `both` blocks, those for which the two gave a number, they disagree about."""

    row: int
    column: int
    both: int
    differing: int

    @property
    def share(self) -> float | None:
        return self.differing / self.both if self.both else None

    @property
    def shade(self) -> int:
        """From 0 to 8, for the cell's background: white to dark from 0 to 100 per cent."""
        share = self.share
        return 0 if not share else max(1, round(_SHADES * share))


def matrices(request: HttpRequest) -> HttpResponse:
    """All of them, newest first."""
    return render(request, "anica/matrices/list.html", newest_runs(request, KIND, "result", "config", "note"))


def matrix(request: HttpRequest, pk: int) -> HttpResponse:
    """One: its table once it is done."""
    run = get_object_or_404(Run, pk=pk, kind=KIND)
    context: dict[str, Any] = {"run": run, "stoppable": Run.UNFINISHED}
    if run.result:
        context |= {
            "found": run.result,
            "block_set": BasicBlockSet.objects.filter(pk=run.result["block_set"]).first(),
            "interest": run.config["interest"],
            "rows_asked": Predictor.objects.filter(
                pk__in=[column["predictor"] for column in run.result["columns"] if column["predictor"]]
            ),
            "rows": list(zip(run.result["columns"], _cells(run.result), strict=True)),
        }
    return render(request, "anica/matrices/matrix.html", context)


def _cells(result: Json) -> list[list[ToolPair | None]]:
    """A row per tool; None beside itself."""
    size = range(len(result["columns"]))
    return [
        [
            None
            if row == column
            else ToolPair(row, column, result["both"][row][column], result["differing"][row][column])
            for column in size
        ]
        for row in size
    ]


def matrix_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """All pairs as a table."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    names = [column["name"] for column in run.result["columns"]]
    cells = [
        cell for row in _cells(run.result) for cell in row if cell is not None and cell.row < cell.column
    ]
    lines = [(names[cell.row], names[cell.column], cell.both, cell.differing, cell.share) for cell in cells]
    head = ("first", "second", "blocks", "differing", "share")
    return table_answer(written(head, lines), run.name, matrix=run.name)


def matrix_cell(request: HttpRequest, pk: int, first: int, second: int) -> HttpResponse:
    """The blocks that two tools disagree about, those that they are furthest apart on first."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    heads = run.result["columns"]
    if first == second or max(first, second) >= len(heads):
        raise Http404("there is no such pair of tools")
    rows = BlockColumn.objects.select_related("predictor", "block_set").in_bulk(
        [heads[at]["id"] for at in (first, second)]
    )
    columns = [rows.get(heads[at]["id"]) for at in (first, second)]
    context: dict[str, Any] = {
        "run": run,
        "heads": [heads[first], heads[second]],
        "interest": run.config["interest"],
        "cell": _cells(run.result)[first][second],
        "columns": columns,
    }
    one, other = columns
    if one is not None and other is not None:
        order = Order.read(request.GET.get("sort", ""), ORDERS, "-difference")
        interest = run.config["interest"]
        cursor = request.GET.get("page", "")
        page = differing_blocks(one, other, interest["metric"], interest["threshold"], order, cursor)
        context |= {
            "page": page,
            "sort": str(order),
            "block_set": one.block_set,
            "predictors": [column.predictor for column in (one, other) if column.predictor is not None],
        }
    return render(request, "anica/matrices/cell.html", context)


class MatrixForm(RunForm):
    """Which blocks, which tools, and when they disagree."""

    request = MatrixConfig
    block_set = forms.ModelChoiceField(
        BasicBlockSet.objects.order_by("-id"),
        required=False,
        label="Blocks",
        empty_label="new random blocks",
        help_text="A basic-block set keeps the answers as new columns.",
    )
    blocks = RequestField(
        label="Random blocks", help_text="Used when no set is chosen; they become a new set."
    )
    length = RequestField(label="Instructions per block", help_text="Of random blocks.")
    predictors = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple, label="Tools")
    columns = forms.ModelMultipleChoiceField(
        BlockColumn.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Columns of the set",
    )
    metric = RequestField(
        {RELATIVE: "by the mean of both", ABSOLUTE: "in cycles"},
        of=InterestSettings,
        label="Disagreement measure",
    )
    threshold = RequestField(
        of=InterestSettings,
        paper="0.5",
        label="More than",
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="When two tools disagree on a block.",
    )
    mode = mode_field("as measured columns, else as each is named")

    def __init__(self, usable: list[Listed], block_set: int | None, data: Any = None) -> None:
        super().__init__(data, initial={"block_set": block_set})
        self.set_choices(
            predictors=[(one.name, one.name) for one in usable],
            columns=BlockColumn.objects.filter(block_set=block_set or 0),
        )
        self.ids: list[int] = []
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        """Find or make the predictors' rows."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for name in data.get("predictors", ()):
            try:
                self.ids.append(chosen(name).pk)
            except PredictorError as error:
                self.add_error("predictors", f"{name}: {error}")
        if len(data.get("predictors", ())) + len(data.get("columns", ())) < 2:
            self.add_error("predictors", "Choose two or more, columns of the set included.")
        return data

    def config(self) -> Json:
        """The description of the run."""
        data = self.cleaned_data
        return {
            "predictors": self.ids,
            "block_set": data["block_set"].pk if data["block_set"] else None,
            "columns": [column.pk for column in data["columns"]],
            **self.stated(),
            "interest": self.stated(InterestSettings),
        }


def matrix_new(request: HttpRequest) -> HttpResponse:
    """Show the form, or start the run. The address may name a set with `set`."""
    usable = [one for one in listed() if one.usable]
    if request.method == "POST":
        block_set = row_number(request.POST.get("block_set", ""))
        form = MatrixForm(usable, block_set, request.POST)
        if request.POST.get("press") == "start" and form.is_valid():
            config = form.config()
            row = form.cleaned_data["block_set"]
            what = row.name if row else f"{config['blocks']:,} random blocks"
            run = start_run(request, form, KIND, config, f"Tools on {what}"[:180])
            if run is not None:
                return redirect("matrix", run.pk)
    else:
        form = MatrixForm(usable, whole_number(request, "set"))
    refused = form.is_bound and request.POST.get("press") == "start"
    context = {"form": form, "usable": usable, "refused": refused}
    return render(request, "anica/matrices/new.html", context, status=400 if refused else 200)


urlpatterns = [
    path("campaigns/matrices/", matrices, name="matrices"),
    path("campaigns/matrices/<int:pk>/", matrix, name="matrix"),
    path("campaigns/matrices/<int:pk>/table.csv", matrix_csv, name="matrix-csv"),
    path("campaigns/matrices/<int:pk>/<int:first>/<int:second>/", matrix_cell, name="matrix-cell"),
    path("campaigns/matrices/new/", matrix_new, name="matrix-new"),
]
