"""The form for a comparison of tools on random blocks, and redirects from the former addresses of matrices to
the pages of comparisons.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from anica_app.core.search.interestingness import ABSOLUTE, RELATIVE, InterestSettings
from anica_app.features.matrices.description import matrix_words
from anica_app.features.matrices.job import KIND, MatrixConfig
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.questions.form import ProcessorForm
from inference.features.judging.engine.addresses import (
    comparison_address,
    comparisons_of,
    limit_query,
    pair_query,
    redirecting_to_list,
)
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.formats.quoting import csv_text
from inference.models import Comparison, Run
from inference.web.contributions import MenuEntry, MenuPlace
from inference.web.file_answers import table_answer
from inference.web.request_fields import RequestField, RunForm, describe_fields, start_run
from inference.web.validation import number_parameter


class RandomBlocksForm(RunForm, ProcessorForm):
    """Blocks, tools, and the criterion for a disagreement."""

    request = MatrixConfig
    blocks = RequestField(label="Random blocks", help_text="They become a basic-block set.")
    length = RequestField(label="Instructions per block")
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
    mode = mode_field("as each is named")
    anew = None  # type: ignore[assignment]  # as Django removes a field

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if len(self.rows) < 2:
            self.add_error("predictors", "Choose two or more.")
        return data

    def config(self) -> Json:
        predictors = [row.pk for row in self.rows]
        return {"predictors": predictors, **self.stated(), "interest": self.stated(InterestSettings)}


def random_blocks(request: HttpRequest) -> HttpResponse:
    """Show the form, or start the run and redirect to its comparison."""
    form = RandomBlocksForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        run = start_run(request, KIND, form.config(), form=form)
        if run is not None:
            return redirect("comparison", run.pk)
    return render(request, "anica/matrices/new.html", {"form": form}, status=400 if form.is_bound else 200)


def matrix(request: HttpRequest, pk: int) -> HttpResponse:
    """Redirect to the matrix view of the comparison, with its threshold."""
    run = get_object_or_404(Run, pk=pk, kind=KIND)
    return redirect(comparison_address(run.pk, view="matrix", **limit_query(**_interest(run))))


def _interest(run: Run) -> Json:
    return {name: run.config["interest"][name] for name in ("metric", "threshold")}


def matrix_csv(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    names = [column["name"] for column in run.result["columns"]]
    pairs = combinations(range(len(names)), 2)
    counts = ((at, run.result["both"][at[0]][at[1]], run.result["differing"][at[0]][at[1]]) for at in pairs)
    lines = [
        (names[first], names[second], both, differing, differing / both if both else None)
        for (first, second), both, differing in counts
    ]
    head = ("first", "second", "blocks", "differing", "share")
    return table_answer(csv_text(head, lines), run.name, matrix=run.name)


def matrix_cell(request: HttpRequest, pk: int, first: int, second: int) -> HttpResponse:
    """Redirect to the smallest blocks that distinguish two tools, or to the form where there is no comparison
    yet.
    """
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
    """The form for random blocks, or redirect to that for the `set` in the address."""
    block_set = number_parameter(request, "set")
    if block_set is None:
        return random_blocks(request)
    return redirect(f"{reverse('comparison-new')}?{urlencode({'items': f'blocks:{block_set}'})}")


urlpatterns = [
    path("campaigns/matrices/", redirecting_to_list(KIND), name="matrices"),
    path("campaigns/matrices/<int:pk>/", matrix, name="matrix"),
    path("campaigns/matrices/<int:pk>/table.csv", matrix_csv, name="matrix-csv"),
    path("campaigns/matrices/<int:pk>/<int:first>/<int:second>/", matrix_cell, name="matrix-cell"),
    path("campaigns/matrices/new/", matrix_new, name="matrix-new"),
]

PRESENTATIONS = {"matrix": KindPresentation(words=matrix_words, outcomes=comparisons_of)}
MENUS = (
    MenuEntry(
        MenuPlace.PREDICTOR_PAIR,
        "Start a campaign with these two",
        "campaign-new",
        "Which kinds of blocks they disagree about",
        "play",
    ),
)
