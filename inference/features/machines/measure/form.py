"""What pages that measure schemes on a machine have in common: which schemes, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from django import forms
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from inference.core.protocols import Json
from inference.features.machines.machines.query import machines, shown
from inference.features.machines.measure.request import Effort
from inference.isa.search import SearchError
from inference.models import InstructionScheme, Machine
from inference.models.scheme_search import (
    BREAKABLE_ONES,
    CHAINABLE,
    GROUP_SELECTIONS,
    STACKED,
    goes_beyond_default,
    latency_schemes,
    select_schemes,
)
from inference.runs.machines.facts import (
    executable_schemes,
    obstacle_to_measuring,
    past_pace,
    unsupported_runs,
)
from inference.web.request_fields import RunForm, describe_fields, name_field, start_run

FormT = TypeVar("FormT", bound="MeasuringForm")


def measurable_schemes(
    machine: Machine, selection: str = "", beyond: Q | None = None
) -> QuerySet[InstructionScheme]:
    """Those of its mapping for a simulated machine; for a computer those that its CPU seems to have.

    These are of the default set unless the selection says otherwise, and those `beyond` it that can be
    measured as well. Raises `SearchError`.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        return machine.isa.schemes.filter(text__in=list(machine.facts["mapping"]["usage"]))
    able = executable_schemes(machine, beyond)
    if goes_beyond_default(selection):
        return able
    return able.filter(Q(exclusion="") if beyond is None else Q(exclusion="") | beyond)


def chosen_schemes(form: forms.Form, machine: Machine, *, chained: bool = False) -> list[tuple[int, str]]:
    """(id, text) of what the fields `selection`, `filter` and `breaking` of a valid form choose there.

    `chained`: for latencies, see `latency_schemes`.
    Empty where the search is wrong or finds nothing, which has become an error of its field.
    """
    data = form.cleaned_data
    try:
        selection = data["filter"] if data["selection"] == "filter" else data["selection"]
        select = latency_schemes if chained else select_schemes
        beyond = CHAINABLE | STACKED if chained else BREAKABLE_ONES if data.get("breaking") else None
        chosen = select(measurable_schemes(machine, selection, beyond), selection)
        texts = list(chosen.order_by("id").values_list("pk", "text"))
    except SearchError as error:
        form.add_error("filter", str(error))
        return []
    if not texts:
        form.add_error(
            "selection", f"None of these schemes can be measured on {machine.name}: choose others."
        )
    return texts


def schemes_config(form: forms.Form, chosen: list[tuple[int, str]]) -> Json:
    """The fields of a run's description that choose these schemes."""
    data = form.cleaned_data
    if data["selection"] == "filter":
        return {"schemes": [pk for pk, _ in chosen], "scheme_filter": data["filter"]}
    return {"schemes": data["selection"]}


SELECTION_WORDS = {
    "starter": "the starter set of the ISA",
    "default": "the default set of the ISA",
    "probes": "probes: one or two per kind of execution unit",
    **GROUP_SELECTIONS,
    "filter": "those matching a search",
}
"""Selections of schemes, but for `all`: what a machine can execute is never all of them."""


def selection_field(
    usual: str = "starter", words: Mapping[str, str] = SELECTION_WORDS, help_text: str = ""
) -> forms.ChoiceField:
    """The choice of schemes by a word, or by a search; `usual` stands first."""
    return forms.ChoiceField(label="Schemes", choices=[*words.items()], initial=usual, help_text=help_text)


EXAMPLES = 3  # schemes that the count shows by name


def search_field() -> forms.CharField:
    """What to search schemes for, where they are chosen by a search."""
    return forms.CharField(
        label="Search",
        required=False,
        max_length=500,
        help_text="The scheme table's search: add ext:AVX2 -memory:W",
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false", "autocapitalize": "off"}),
    )


class MeasuringForm(RunForm):
    """Schemes, and a name for what comes of it."""

    selection = selection_field()
    filter = search_field()
    name = name_field("the run and what it measures")

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        """A search has to say what it searches for."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("selection") == "filter" and not data.get("filter", "").strip():
            self.add_error("filter", "Write what to search for, or choose a named selection.")
        return data

    @classmethod
    def untouched(cls, more: Json | None = None) -> Self:
        """The form as it is shown first, sent without a change; `more` are values that it is shown with."""
        usual = {field.name: field.initial for field in cls() if field.initial is not None}
        return cls(usual | (more or {}))


@dataclass(frozen=True)
class MeasuringPlan:
    """What a form asks for: the run's description, its schemes, and the effort."""

    config: Json
    schemes: int
    examples: tuple[str, ...]
    effort: Effort
    note: str

    @classmethod
    def of(cls, machine: Machine, config: Json, chosen: list[tuple[int, str]], effort: Effort) -> Self:
        """For schemes as (id, text)."""
        examples = tuple(text for _, text in chosen[:EXAMPLES])
        return cls(config, len(chosen), examples, effort, _pace_of(machine))

    @property
    def more(self) -> bool:
        """Whether there are schemes beside the examples."""
        return self.schemes > len(self.examples)


def _pace_of(machine: Machine) -> str:
    """What the time rests on, where it does not rest on what the machine has shown."""
    if past := past_pace(machine):
        return f"As its last {'run' if past.runs == 1 else f'{past.runs} runs'} of measurements went."
    if machine.kind == Machine.Kind.AGENT and not machine.rate:
        return f"{machine.name} has not measured since it connected, so its rate is a guess."
    return ""


def measuring_page(
    request: HttpRequest,
    pk: int,
    kind: str,
    template: str,
    form_class: type[FormT],
    plan: Callable[[Machine, FormT], MeasuringPlan | None],
    usual_name: Callable[[Machine, FormT], str],
    initial: Json | None = None,
) -> HttpResponse:
    """Show the form of a run of some kind that measures on one machine, estimate, or start the run.

    `plan`: what a form asks for, None where a field has an error; `usual_name`: of a run without one;
    `initial`: what the form proposes beside the defaults of its fields.
    """
    machine = get_object_or_404(machines(), pk=pk)
    if machine.kind == Machine.Kind.PUBLISHED:
        raise Http404(f"{machine.name} stands for published measurements and cannot measure")
    sent = request.method == "POST"
    form = form_class(request.POST) if sent else form_class.untouched(initial)
    wanted = plan(machine, form)
    starts = request.POST.get("press") == "start"
    if starts and wanted is not None:
        run = start_run(request, kind, wanted.config, usual_name(machine, form), form=form)
        if run is not None:
            return redirect("run", pk=run.pk)
    context = {
        "machine": machine,
        "row": shown(machine),
        "hindered": obstacle_to_measuring(machine) or unsupported_runs(machine).get(kind, ""),
        "form": form if sent else form_class(initial=initial),
        "estimate": wanted,
        "refused": starts,
    }
    return render(request, template, context, status=400 if starts else 200)
