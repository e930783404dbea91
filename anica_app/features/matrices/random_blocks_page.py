"""The form for a comparison of tools on new random blocks."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from anica_app.core.search.judging import ABSOLUTE, RELATIVE, InterestSettings
from anica_app.features.matrices.job import KIND, MatrixConfig
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.questions.form import ProcessorForm
from inference.web.request_fields import RequestField, RunForm, describe_fields, start_run


class RandomBlocksForm(RunForm, ProcessorForm):
    """How many blocks, which tools, and when two of them disagree."""

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
        """The description of the run."""
        predictors = [row.pk for row in self.rows]
        return {"predictors": predictors, **self.stated(), "interest": self.stated(InterestSettings)}


def random_blocks(request: HttpRequest) -> HttpResponse:
    """Show the form, or start the run, whose page is that of any comparison."""
    form = RandomBlocksForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        config = form.config()
        run = start_run(request, form, KIND, config, f"Tools on {config['blocks']:,} random blocks")
        if run is not None:
            return redirect("comparison", run.pk)
    return render(request, "anica/matrices/new.html", {"form": form}, status=400 if form.is_bound else 200)
