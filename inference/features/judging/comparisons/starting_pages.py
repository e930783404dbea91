"""The tools that a comparison can ask, for the processor of a set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.query import kind_of, programs, row_for
from inference.features.judging.comparisons.request import KIND, ComparisonConfig
from inference.isa.targets import target_of
from inference.isa.tool_names import NO_NAMES, TOOL_NAMES, ToolNames
from inference.models import ExperimentSet, PortMapping, Predictor, ResourceMapping
from inference.predictors import machine
from inference.predictors.kinds import FoundKind
from inference.predictors.llvm import mca
from inference.predictors.llvm.processors import processors
from inference.predictors.llvm.releases import installed
from inference.predictors.osaca import predictor as osaca
from inference.predictors.protocol import PredictorError
from inference.storage.instruction_sets import core_of
from inference.web.presentation import describe_fields
from inference.web.request_fields import RequestField, RunForm
from inference.web.requests import start_run, whole_number

_CPU_OF = {mca.KIND: "cpu", osaca.KIND: "arch"}
"""Kinds that are told the processor, by the option that tells it."""

_CONFIGURED = "predictor"


@dataclass(frozen=True)
class Processor:
    """What llvm-mca and OSACA shall call the processor; "" for what they take without being told."""

    llvm: str
    osaca: str


def likely_names(judge: ExperimentSet) -> ToolNames:
    """What tools call the processor that a set is from, as far as that is known."""
    core = None if judge.machine is None else core_of(judge.machine)
    return NO_NAMES if core is None else TOOL_NAMES.get(core.name, NO_NAMES)


def askable() -> list[tuple[str, str]]:
    """(value, label) of what is found on this computer, connected machines, and what was configured.

    Mappings are not among them: they know experiments themselves.
    """
    found = [
        (f"{kind.name}:{number}", f"{kind.title} {one.version}")
        for kind, versions, _ in programs()
        for number, one in enumerate(versions)
    ]
    found += [(f"{machine.KIND}:{one.options['machine']}", _title(one.options)) for one in _machines()]
    rows = Predictor.objects.filter(origin=Predictor.Origin.CONFIGURED).exclude(kind="mapping")
    return [*found, *((f"{_CONFIGURED}:{row.pk}", row.name) for row in rows.order_by("name"))]


def row_of(value: str, processor: Processor) -> Predictor:
    """The stored predictor that a value of `askable` means, made where there is none; `PredictorError`."""
    kind, _, which = value.partition(":")
    if kind == _CONFIGURED:
        return Predictor.objects.get(pk=int(which))
    if kind == machine.KIND:
        return row_for(kind, {"machine": which})
    versions = kind_of(kind).found()
    if int(which) >= len(versions):
        raise PredictorError(f"{kind} has gone from this computer meanwhile")
    name = processor.llvm if kind == mca.KIND else processor.osaca if kind == osaca.KIND else ""
    told = {_CPU_OF[kind]: name} if name else {}
    return row_for(kind, {**versions[int(which)].options, **told})


def _machines() -> list[FoundKind]:
    try:
        return list(kind_of(machine.KIND).found())
    except PredictorError:
        return []


def _title(options: Json) -> str:
    return f"machine {options['machine']}"


# The form for a comparison: whose experiments, and who is compared.


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
