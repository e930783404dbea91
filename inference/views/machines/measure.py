"""Measuring on a machine for its own sake: which schemes, in which experiments, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass
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
from inference.models.scheme_search import GROUP_SELECTIONS
from inference.queries.machines import machines
from inference.runs.jobs.infer_config import DEFAULT_SEED, MOST_MIXES
from inference.runs.jobs.machine_facts import obstacle_to_measuring
from inference.runs.jobs.measure import MOST_INSTRUCTIONS, Effort, MeasureConfig, effort
from inference.views.machines.list import shown
from inference.views.machines.schemes import chosen_schemes, schemes_config
from inference.views.naming import NOTE_LIMIT
from inference.views.starting import start_run

SELECTIONS = (
    ("starter", "the starter set of the ISA"),
    ("default", "the default set of the ISA"),
    ("probes", "probes: one or two per kind of execution unit"),
    *GROUP_SELECTIONS.items(),
    ("filter", "those that a search finds"),
)
PLANS = (
    ("singletons", "every scheme alone"),
    ("pairs", "alone, and every two together"),
    ("mixes", "random mixes"),
)
EXAMPLES = 3  # schemes that the count shows by name


class MeasureForm(forms.Form):
    """What to measure; the machine is that of the page."""

    selection = forms.ChoiceField(label="Schemes", choices=SELECTIONS, initial="starter")
    filter = forms.CharField(
        label="Search",
        required=False,
        max_length=500,
        help_text="The scheme table's search: add ext:AVX2 -memory:W",
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false", "autocapitalize": "off"}),
    )
    plan = forms.ChoiceField(
        label="Experiments",
        choices=PLANS,
        initial="pairs",
        help_text="Pairs are what PMEvo learns from; mixes are what mappings are judged by.",
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
    seed = forms.IntegerField(
        initial=DEFAULT_SEED,
        validators=[MinValueValidator(0), MaxValueValidator(2**31 - 1)],
        help_text="Chooses the mixes: the same seed, the same mixes.",
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
    name = forms.CharField(
        max_length=200,
        required=False,
        help_text="Of the run and its experiment set; left empty, one is made up.",
    )
    note = forms.CharField(max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        for field in self:
            if field.help_text:
                field.field.widget.attrs["aria-describedby"] = f"{field.auto_id}_helptext"

    def clean(self) -> dict[str, Any]:
        """What must hold between fields, each complaint at the field to change."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("selection") == "filter" and not data.get("filter", "").strip():
            self.add_error("filter", "Write what to search for, or choose a named selection.")
        if data.get("plan") == "mixes":
            for name, complaint in (("mixes", "How many mixes?"), ("length", "How long is a mix?")):
                if name not in self.errors and data.get(name) is None:
                    self.add_error(name, complaint)
        return data


@dataclass(frozen=True)
class Plan:
    """What the form asks for: the run's description, its schemes, and the effort."""

    config: Json
    schemes: int
    examples: tuple[str, ...]
    effort: Effort
    note: str

    @property
    def more(self) -> bool:
        """Whether there are schemes beside the examples."""
        return self.schemes > len(self.examples)


def machine_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the form, estimate, or start the run."""
    machine = get_object_or_404(machines(), pk=pk)
    if machine.kind == Machine.Kind.PUBLISHED:
        raise Http404(f"{machine.name} stands for published measurements and cannot measure")
    if request.method != "POST":
        return _page(request, machine, MeasureForm(), _plan(machine, _untouched()))
    form = MeasureForm(request.POST)
    wanted = _plan(machine, form)
    starts = request.POST.get("press") == "start"
    if starts and wanted is not None:
        usual_name = f"{machine.name}: {dict(PLANS)[form.cleaned_data['plan']]}"
        run = start_run(request, form, "measure", wanted.config, usual_name)
        if run is not None:
            return redirect("run", pk=run.pk)
    return _page(request, machine, form, wanted, refused=starts)


def _untouched() -> MeasureForm:
    """The form as it is shown first, sent without a change."""
    empty = MeasureForm()
    return MeasureForm({field.name: field.initial for field in empty if field.initial is not None})


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
    return Plan(
        config=config,
        schemes=len(texts),
        examples=tuple(text for _, text in texts[:EXAMPLES]),
        effort=effort(machine, len(texts), data["plan"], mixes),
        note=pace_of(machine),
    )


def pace_of(machine: Machine) -> str:
    """What the time rests on, where it does not rest on what the machine has shown."""
    if machine.kind == Machine.Kind.AGENT and not machine.rate:
        return f"{machine.name} has not measured yet, so its pace is a guess."
    return ""


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
