"""The form that starts a check of the port mapping model on a machine, with its estimate."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from inference.core.protocols import Json
from inference.features.judging.findings.model_check_request import CheckConfig, check_effort
from inference.features.learning.explained.remeasuring import posted_number
from inference.features.learning.inferring.reference import documented_for
from inference.features.machines.machines.query import machines
from inference.features.machines.measure.form import (
    MeasuringForm,
    MeasuringPlan,
    chosen_schemes,
    measuring_page,
    schemes_config,
    selection_field,
)
from inference.models import Machine, PortMapping
from inference.runs.machines.facts import obstacle_to_measuring
from inference.web.request_fields import RequestField
from inference.web.validation import whole_number


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
    machine = _machine(request)
    if machine is None:
        return render(request, _TEMPLATE)
    documented = documented_for(machine)
    return measuring_page(
        request,
        machine.pk,
        "check-model",
        _TEMPLATE,
        CheckForm,
        _plan,
        lambda machine, form: f"{machine.name}: check of the model",
        {"machine": machine.pk, "reference": documented and documented.pk},
    )


_TEMPLATE = "inference/findings/model_new.html"


def _machine(request: HttpRequest) -> Machine | None:
    """The machine that the form or the address names, else the first that can measure, or any."""
    number = posted_number(request, "machine") if request.POST else whole_number(request, "machine")
    rows = sorted(
        machines().exclude(kind=Machine.Kind.PUBLISHED),
        key=lambda row: (row.pk != number, bool(obstacle_to_measuring(row))),
    )
    return next(iter(rows), None)


def _plan(machine: Machine, form: CheckForm) -> MeasuringPlan | None:
    """What a valid form asks for."""
    if not form.is_valid():
        return None
    data = form.cleaned_data
    texts = chosen_schemes(form, machine)
    if not texts:
        return None
    numbers = {name: data[name] for name in ("mixes", "sequences", "permutations")}
    config: Json = {
        "machine": machine.pk,
        "reference": data["reference"] and data["reference"].pk,
        **schemes_config(form, texts),
        **form.stated(),
    }
    return MeasuringPlan.of(machine, config, texts, check_effort(machine, len(texts), **numbers))


urlpatterns = [
    path("check-model/", check_model, name="check-model"),
]
