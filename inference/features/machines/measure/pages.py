"""The page that measures experiments on a machine."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from inference.core.protocols import Json
from inference.features.machines.measure.form import (
    MeasuringForm,
    MeasuringPlan,
    measuring_page,
    schemes_config,
)
from inference.features.machines.measure.job import MeasureConfig
from inference.features.machines.measure.request import estimate_effort
from inference.isa.machine_bodies import VALUES
from inference.models import Machine
from inference.web.request_fields import RequestField

PLANS = {
    "singletons": "every scheme alone",
    "pairs": "alone and in pairs",
    "mixes": "random mixes",
    "slots": "issue slots: alone, and among moves",
}


class MeasureForm(MeasuringForm):
    """The form of a run of kind `measure`; the machine is that of the page."""

    request = MeasureConfig

    plan = RequestField(
        PLANS,
        label="Experiments",
        help_text="PMEvo learns from pairs; mixes and issue slots test mappings.",
        required=True,
    )
    mixes = RequestField(help_text="Fewer if there are fewer different ones.")
    length = RequestField(label="Instructions per mix", help_text="The papers use mixes of five.")
    seed = RequestField(
        help_text="Seed of the random choice: the same seed gives the same experiments.", required=True
    )
    unroll = RequestField(
        label="Instructions per loop body",
        help_text="About; 40, 100 or 200: results that depend on it are limited by the front end.",
    )
    values = RequestField(
        {name: f"{name}: {label}" for name, label in VALUES.items()},
        label="Operand values",
        help_text="Initial values of registers and memory, which matter for divisions and a few others.",
    )
    breaking = RequestField(
        label="Break dependencies",
        help_text="Measures schemes with hard-wired operands (mul, adc, cmpxchg, gathers) as well, each "
        "together with the instruction that breaks its dependency. The run's log names these.",
    )

    def clean(self) -> dict[str, Any]:
        """Require number and length of mixes for the plan `mixes`."""
        data = super().clean()
        if data.get("plan") == "mixes":
            for name, complaint in (
                ("mixes", "Enter the number of mixes."),
                ("length", "Enter the length of a mix."),
            ):
                if name not in self.errors and data.get(name) is None:
                    self.add_error(name, complaint)
        return data


def machine_measure(request: HttpRequest, pk: int) -> HttpResponse:
    return measuring_page(request, pk, "measure", "inference/measure/page.html", MeasureForm, _plan)


def _plan(machine: Machine, form: MeasureForm, texts: list[tuple[int, str]]) -> MeasuringPlan:
    data = form.cleaned_data
    mixes = data["mixes"] or MeasureConfig.default_of("mixes")
    config: Json = {"machine": machine.pk, **schemes_config(form, texts), **form.stated()}
    return MeasuringPlan.of(machine, config, texts, estimate_effort(machine, len(texts), data["plan"], mixes))


urlpatterns = [path("machines/<int:pk>/measure/", machine_measure, name="machine-measure")]
