"""The form for a matrix: which blocks, and which tools."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from anica_app.campaigning.matrix import DEFAULT_BLOCKS, DEFAULT_LENGTH, KIND, MOST_BLOCKS
from anica_app.campaigning.predictors import Listed, chosen, listed
from anica_app.core.errors import PredictorError
from anica_app.core.search.judging import ABSOLUTE, RELATIVE
from anica_app.models import BasicBlockSet, BlockColumn
from inference.core.protocols import Json
from inference.features.runs.pages import SUMMARIES
from inference.web.naming import NOTE_LIMIT
from inference.web.presentation import describe_fields
from inference.web.requests import row_number, start_run, whole_number

SUMMARIES[KIND] = "How often tools disagree about basic blocks"


class MatrixForm(forms.Form):
    """Which blocks, which tools, and when they disagree."""

    block_set = forms.ModelChoiceField(
        BasicBlockSet.objects.order_by("-id"),
        required=False,
        label="Blocks",
        empty_label="new random blocks",
        help_text="A basic-block set keeps the answers as new columns.",
    )
    blocks = forms.IntegerField(
        label="How many random blocks",
        initial=DEFAULT_BLOCKS,
        required=False,
        validators=[MinValueValidator(10), MaxValueValidator(MOST_BLOCKS)],
        help_text="Where no set is chosen; they become one.",
    )
    length = forms.IntegerField(
        label="Instructions of each",
        initial=DEFAULT_LENGTH,
        required=False,
        validators=[MinValueValidator(1), MaxValueValidator(30)],
        help_text="Of random blocks.",
    )
    predictors = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Tools to ask"
    )
    columns = forms.ModelMultipleChoiceField(
        BlockColumn.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Columns of the set",
    )
    metric = forms.ChoiceField(
        label="Measure of disagreement",
        choices=[(RELATIVE, "by the mean of both"), (ABSOLUTE, "in cycles")],
        required=False,
    )
    threshold = forms.FloatField(
        label="More than",
        initial=0.5,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        validators=[MinValueValidator(0)],
        help_text="Then two tools disagree about a block.",
    )
    name = forms.CharField(
        max_length=200, required=False, help_text="Of the run; left empty, one is made up."
    )
    note = forms.CharField(max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, usable: list[Listed], block_set: int | None, data: Any = None) -> None:
        super().__init__(data, initial={"block_set": block_set})
        choice = self.fields["predictors"]
        assert isinstance(choice, forms.MultipleChoiceField)
        choice.choices = [(one.name, one.name) for one in usable]
        rows = BlockColumn.objects.filter(block_set=block_set or 0)
        self.fields["columns"].queryset = rows  # type: ignore[attr-defined]
        self.fields["threshold"].paper = "0.5"  # type: ignore[attr-defined]
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
        threshold = 0.5 if data["threshold"] is None else data["threshold"]
        return {
            "predictors": self.ids,
            "block_set": data["block_set"].pk if data["block_set"] else None,
            "columns": [column.pk for column in data["columns"]],
            "blocks": data["blocks"] or DEFAULT_BLOCKS,
            "length": data["length"] or DEFAULT_LENGTH,
            "interest": {"metric": data["metric"] or RELATIVE, "threshold": threshold},
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
    return render(request, "anica/matrix_new.html", context, status=400 if refused else 200)


urlpatterns = [path("campaigns/matrices/new/", matrix_new, name="matrix-new")]
