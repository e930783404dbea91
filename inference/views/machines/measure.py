"""Measuring on a machine for its own sake: which schemes, in which experiments, and how long it takes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.isa.x86.surroundings import DEFAULTS, FEWEST, MOST
from inference.isa.x86.values import VALUES
from inference.models import Machine
from inference.queries.machines import machines
from inference.runs.jobs.infer_config import MOST_MIXES
from inference.runs.jobs.machine_facts import obstacle_to_measuring
from inference.runs.jobs.measure import MOST_INSTRUCTIONS, MeasureConfig, effort
from inference.views.machines.list import shown
from inference.views.machines.measuring_form import MeasuringForm, Plan
from inference.views.machines.schemes import chosen_schemes, schemes_config
from inference.views.starting import start_run

PLANS = (
    ("singletons", "every scheme alone"),
    ("pairs", "alone, and every two together"),
    ("mixes", "random mixes"),
    ("slots", "issue slots: alone, and among moves"),
)


class MeasureForm(MeasuringForm):
    """What to measure; the machine is that of the page."""

    plan = forms.ChoiceField(
        label="Experiments",
        choices=PLANS,
        initial="pairs",
        help_text="Pairs are what PMEvo learns from, mixes what mappings are judged by. Slots are held "
        "against what mappings say.",
    )
    mixes = forms.IntegerField(
        label="Number of mixes",
        initial=MeasureConfig.mixes,
        required=False,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_MIXES)],
        help_text="As many as there are at most.",
    )
    length = forms.IntegerField(
        label="Instructions per mix",
        initial=MeasureConfig.length,
        required=False,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_INSTRUCTIONS)],
        help_text="The papers judge by mixes of five.",
    )
    unroll = forms.IntegerField(
        label="Instructions per loop body",
        initial=DEFAULTS.instructions,
        required=False,
        validators=[MinValueValidator(FEWEST), MaxValueValidator(MOST)],
        help_text="About; 40, 100 or 200: results that depend on it are limited by the front end.",
    )
    values = forms.ChoiceField(
        label="Operand values",
        choices=[(name, f"{name}: {each.label}") for name, each in VALUES.items()],
        initial=DEFAULTS.values,
        required=False,
        help_text="What registers and memory hold at first. It matters to divisions, and to some others.",
    )
    breaking = forms.BooleanField(
        label="Break dependencies",
        required=False,
        help_text="Measures schemes with hard-wired operands (mul, adc, cmpxchg, gathers) as well, each "
        "together with the instruction that breaks its dependency. The run's log names these.",
    )

    def clean(self) -> dict[str, Any]:
        """What must hold between fields, each complaint at the field to change."""
        data = super().clean()
        if data.get("plan") == "mixes":
            for name, complaint in (("mixes", "How many mixes?"), ("length", "How long is a mix?")):
                if name not in self.errors and data.get(name) is None:
                    self.add_error(name, complaint)
        return data


def machine_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the form, estimate, or start the run."""
    machine = get_object_or_404(machines(), pk=pk)
    if machine.kind == Machine.Kind.PUBLISHED:
        raise Http404(f"{machine.name} stands for published measurements and cannot measure")
    if request.method != "POST":
        return _page(request, machine, MeasureForm(), _plan(machine, MeasureForm.untouched()))
    form = MeasureForm(request.POST)
    wanted = _plan(machine, form)
    starts = request.POST.get("press") == "start"
    if starts and wanted is not None:
        usual_name = f"{machine.name}: {dict(PLANS)[form.cleaned_data['plan']]}"
        run = start_run(request, form, "measure", wanted.config, usual_name)
        if run is not None:
            return redirect("run", pk=run.pk)
    return _page(request, machine, form, wanted, refused=starts)


def _plan(machine: Machine, form: MeasureForm) -> Plan | None:
    """What a valid form asks for; a search that is wrong, or finds nothing, becomes an error of its field."""
    if not form.is_valid():
        return None
    data = form.cleaned_data
    texts = chosen_schemes(form, machine)
    if not texts:
        return None
    mixes = data["mixes"] or MeasureConfig.mixes
    config: Json = {
        "machine": machine.pk,
        **schemes_config(form, texts),
        "plan": data["plan"],
        "mixes": mixes,
        "length": data["length"] or MeasureConfig.length,
        "seed": data["seed"],
        "unroll": data["unroll"] or DEFAULTS.instructions,
        "breaking": data["breaking"],
        "values": data["values"] or DEFAULTS.values,
    }
    return Plan.of(machine, config, texts, effort(machine, len(texts), data["plan"], mixes))


def _page(
    request: HttpRequest, machine: Machine, form: MeasureForm, wanted: Plan | None, *, refused: bool = False
) -> HttpResponse:
    context = {
        "machine": machine,
        "row": shown(machine),
        "hindered": obstacle_to_measuring(machine),
        "form": form,
        "estimate": wanted,
        "refused": refused,
    }
    return render(request, "inference/machine/measure.html", context, status=400 if refused else 200)


urlpatterns = [path("machines/<int:pk>/measure/", machine_measure, name="machine-measure")]
