"""The form that starts a check of the port mapping model on a machine, with its estimate."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.judging.model_check.request import CheckConfig, check_effort
from inference.features.learning.inferring.reference import documented_for
from inference.features.machines.machines.query import machines, shown
from inference.features.machines.measure.form import (
    MeasuringForm,
    MeasuringPlan,
    chosen_schemes,
    schemes_config,
    selection_field,
)
from inference.models import Machine, PortMapping
from inference.runs.machines.facts import obstacle_to_measuring
from inference.web.request_fields import RequestField
from inference.web.requests import whole_number
from inference.web.run_forms import start_run


class ReferenceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic as it runs
    """Port mappings by name, with their instruction set."""

    def label_from_instance(self, obj: Any) -> str:
        """As the list shows it."""
        return f"{obj.name} ({obj.isa.name})"


class CheckForm(MeasuringForm):
    """What to measure where, and which port mapping to compare it with."""

    request = CheckConfig
    machine = forms.ModelChoiceField(Machine.objects.none(), empty_label=None)
    reference = ReferenceField(
        PortMapping.objects.none(),
        required=False,
        empty_label="none: single instructions against 1/n cycles",
        help_text="One that was not learnt from this machine: the documented ports, imported from uops.info.",
    )
    selection = selection_field(CheckConfig.usual("schemes"))
    mixes = RequestField(
        label="Mixes of each length",
        paper="5,000",
        help_text="Of 2 to 6, 10, 15 and 20 schemes within 10 %; 0 for none.",
        required=True,
    )
    sequences = RequestField(
        label="Mixes to reorder",
        paper="500",
        help_text="Of each length: 2, 4 … 20; 0 for none.",
        required=True,
    )
    permutations = RequestField(
        label="Orders of each", paper="10", help_text="As far as there are so many.", required=True
    )
    seed = RequestField(
        help_text="Seed of the random choice: the same seed gives the same experiments.", required=True
    )

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        self.set_choices(
            machine=machines().exclude(kind=Machine.Kind.PUBLISHED),
            reference=PortMapping.objects.select_related("isa").order_by("origin", "name"),
        )

    def clean(self) -> dict[str, Any]:
        """What must hold between fields, each complaint at the field to change."""
        data = super().clean()
        machine, reference = data.get("machine"), data.get("reference")
        if machine and reference and machine.isa_id != reference.isa_id:
            self.add_error("reference", f"It is for {reference.isa}, but the machine is for {machine.isa}.")
        return data


def check_model(request: HttpRequest) -> HttpResponse:
    """Show the form, estimate, or start the run."""
    if request.method != "POST":
        initial = _initial(request)
        form = CheckForm(initial=initial)
        chosen = {name: row.pk for name, row in initial.items() if row is not None}
        wanted = _plan(CheckForm.untouched(chosen)) if "machine" in initial else None
        return _page(request, form, initial.get("machine"), wanted)
    form = CheckForm(request.POST)
    wanted = _plan(form)
    starts = request.POST.get("press") == "start"
    machine = form.cleaned_data.get("machine")
    if starts and wanted is not None and machine is not None:
        name = f"{machine.name}: check of the model"
        run = start_run(request, form, "check-model", wanted.config, name)
        if run is not None:
            return redirect("run", pk=run.pk)
    return _page(request, form, machine, wanted, refused=starts)


def _initial(request: HttpRequest) -> dict[str, Any]:
    """The machine that the address names, else the first that can measure, and what is documented of it."""
    choices = machines().exclude(kind=Machine.Kind.PUBLISHED)
    asked = whole_number(request, "machine")
    found = [row for row in choices if asked == row.pk] or [
        row for row in choices if not obstacle_to_measuring(row)
    ]
    if not found:
        return {}
    return {"machine": found[0], "reference": documented_for(found[0])}


def _plan(form: CheckForm) -> MeasuringPlan | None:
    """What a valid form asks for."""
    if not form.is_valid():
        return None
    data = form.cleaned_data
    machine, reference = data["machine"], data["reference"]
    texts = chosen_schemes(form, machine)
    if not texts:
        return None
    numbers = {name: data[name] for name in ("mixes", "sequences", "permutations")}
    config: Json = {
        "machine": machine.pk,
        "reference": reference and reference.pk,
        **schemes_config(form, texts),
        **form.stated(),
    }
    return MeasuringPlan.of(machine, config, texts, check_effort(machine, len(texts), **numbers))


def _page(
    request: HttpRequest,
    form: CheckForm,
    machine: Machine | None,
    wanted: MeasuringPlan | None,
    *,
    refused: bool = False,
) -> HttpResponse:
    context = {
        "machine": machine,
        "row": machine and shown(machine),
        "hindered": machine and obstacle_to_measuring(machine),
        "any_machine": form.fields["machine"].queryset.exists(),  # type: ignore[attr-defined]
        "any_reference": PortMapping.objects.filter(origin=PortMapping.Origin.IMPORT).exists(),
        "form": form,
        "estimate": wanted,
        "refused": refused,
    }
    return render(request, "inference/model_check/new.html", context, status=400 if refused else 200)


urlpatterns = [
    path("check-model/", check_model, name="check-model"),
]
