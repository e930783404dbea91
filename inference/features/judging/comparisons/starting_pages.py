"""The form for a comparison: whose experiments, and who is compared."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from inference.features.judging.comparisons.askable_tools import Processor, askable, likely_names, row_of
from inference.features.judging.comparisons.request import KIND, ComparisonConfig

from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.isa.targets import target_of
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.predictors.llvm.releases import installed, processors
from inference.predictors.osaca import predictor as osaca
from inference.predictors.protocol import PredictorError
from inference.web.request_fields import RequestField, RunForm, describe_fields
from inference.web.requests import whole_number
from inference.web.run_forms import start_run

_LOOKED_AT = 300
"""Measurements at either end of a set in which the names of tools are looked for."""

_TICKED = 8
"""Mappings that are ticked when nothing else was asked for: the newest."""


class ComparisonForm(RunForm):
    """What is compared on one set. `askable`: tools that can be asked, none for other instruction sets."""

    request = ComparisonConfig
    mappings = forms.ModelMultipleChoiceField(
        PortMapping.objects.none(), required=False, widget=forms.CheckboxSelectMultiple, label="Port mappings"
    )
    resource_mappings = forms.ModelMultipleChoiceField(
        ResourceMapping.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Resource mappings",
        help_text="Palmed’s among them.",
    )
    tools = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Answers in the set",
        help_text="Other tools’ answers in the uploaded file.",
    )
    other_sets = forms.ModelMultipleChoiceField(
        ExperimentSet.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Other measurements",
        help_text="The same experiments in another set: another machine, or another day.",
    )
    predictors = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Tools and machines",
        help_text="Each experiment becomes a basic block without dependencies. Answers are remembered.",
    )
    cpu = forms.CharField(
        required=False,
        max_length=40,
        label="Processor for llvm-mca",
        help_text="As -mcpu takes it, such as skylake or znver1.",
        widget=forms.TextInput(attrs={"list": "processors", "autocomplete": "off", "spellcheck": "false"}),
    )
    arch = forms.ChoiceField(
        required=False,
        label="Architecture for OSACA",
        choices=lambda: [("", "as usual"), *((name, name) for name in osaca.processors())],
    )
    instructions = RequestField(
        paper="10",
        label="Minimum instructions per block",
        help_text="More hide longer latencies, and take tools longer.",
    )
    most = RequestField(label="Maximum experiments", help_text="A larger set is sampled at random.")
    mode = mode_field()

    def __init__(self, judge: ExperimentSet, data: Any = None, ticked: Json | None = None) -> None:
        self.judge = judge
        names = likely_names(judge)
        super().__init__(data, initial={"cpu": names.llvm, "arch": names.osaca, **(ticked or {})})
        same = {"isa": judge.isa_id}
        others = ExperimentSet.objects.exclude(pk=judge.pk)
        self.set_choices(
            mappings=PortMapping.objects.filter(**same).order_by("-id").only("name"),
            resource_mappings=ResourceMapping.objects.filter(**same).order_by("-id").only("name"),
            other_sets=others.filter(**same).order_by("-id").only("name"),
            tools=[(name, name) for name in tool_names(judge)],
            predictors=askable() if target_of(judge.isa.name).blocks is not None else [],
        )
        self.ids: list[int] = []
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        """Find or make the predictors' rows."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        processor = Processor(data.get("cpu", "").strip(), data.get("arch", ""))
        for value in data.get("predictors", ()):
            try:
                self.ids.append(row_of(value, processor).pk)
            except PredictorError as error:
                self.add_error("predictors", f"{value}: {error}")
        return data

    def config(self) -> Json:
        """The description of the run."""
        data = self.cleaned_data
        return {
            "experiment_set": self.judge.pk,
            **{
                name: [row.pk for row in data[name]]
                for name in ("mappings", "resource_mappings", "other_sets")
            },
            "tools": data["tools"],
            "predictors": self.ids,
            **self.stated(),
        }


def tool_names(judge: ExperimentSet) -> list[str]:
    """The tools that have answers at the beginning or the end of a set."""
    rows = judge.measurements.exclude(annotations={})
    names: dict[str, None] = {}
    for order in ("id", "-id"):
        for answers in rows.order_by(order).values_list("annotations", flat=True)[:_LOOKED_AT]:
            names |= dict.fromkeys(answers)
    return list(names)


def comparison_new(request: HttpRequest) -> HttpResponse:
    """Show the form for a set, or start the run.

    The address names the set with `set`, and with `mapping` or `resource_mapping` what to compare on it.
    """
    sets = list(ExperimentSet.objects.order_by("-id").only("name"))
    if not sets:
        return render(request, "inference/comparisons/new.html", {"sets": sets})
    pk = whole_number(request, "set", sets[0].pk)
    judge = get_object_or_404(ExperimentSet.objects.select_related("isa", "machine__isa"), pk=pk)
    if request.method == "POST":
        form = ComparisonForm(judge, request.POST)
        if form.is_valid():
            run = start_run(request, form, KIND, form.config(), f"Predictors on {judge.name}"[:180])
            if run is not None:
                return redirect("comparison", run.pk)
    else:
        form = ComparisonForm(judge, ticked=_ticked(request, judge))
    newest = next(reversed(installed()), None)
    context = {
        "form": form,
        "sets": sets,
        "judge": judge,
        "has_blocks": target_of(judge.isa.name).blocks is not None,
        "processors": () if newest is None else processors(newest.mca),
        "refused": form.is_bound,
    }
    return render(request, "inference/comparisons/new.html", context, status=400 if form.is_bound else 200)


def _ticked(request: HttpRequest, judge: ExperimentSet) -> Json:
    """What is ticked at first: what the address names, else the newest mappings, and the set's own tools."""
    named = {
        f"{name}s": [pk]
        for name in ("mapping", "resource_mapping")
        if (pk := whole_number(request, name)) is not None
    }
    newest = [] if named else list(judge.isa.mappings.values_list("pk", flat=True)[:_TICKED])
    return {"mappings": newest, **named, "tools": tool_names(judge)}


urlpatterns = [path("comparisons/new/", comparison_new, name="comparison-new")]
