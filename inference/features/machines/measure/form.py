"""The common parts of pages that measure schemes on a machine: choice of schemes, estimate, and start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from django import forms
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from inference.core.protocols import Json
from inference.core.run_times import Basis
from inference.features.machines.machines.query import machine_view, machines
from inference.features.machines.measure.request import Effort
from inference.isa.search import SearchError
from inference.models import InstructionScheme, Machine
from inference.models.scheme_search import (
    CHAINABLE,
    GROUP_SELECTIONS,
    HAS_BREAKABLE_DEPENDENCY,
    STACKED,
    goes_beyond_default,
    latency_schemes,
    select_schemes,
)
from inference.runs import estimates
from inference.runs.estimates import TimeEstimate
from inference.runs.machines.facts import (
    executable_schemes,
    measuring_pace,
    obstacle_to_measuring,
    unsupported_runs,
)
from inference.web.request_fields import RunForm, describe_fields, name_field, start_run

FormT = TypeVar("FormT", bound="MeasuringForm")


def measurable_schemes(
    machine: Machine, selection: str = "", beyond: Q | None = None
) -> QuerySet[InstructionScheme]:
    """The schemes that a machine can measure: those of a simulated machine's mapping, or of the CPU's
    features.

    Without a selection that goes beyond it, only schemes of the default set, and those that match `beyond`.
    Raises `SearchError`.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        return machine.isa.schemes.filter(text__in=list(machine.facts["mapping"]["usage"]))
    executable = executable_schemes(machine, beyond)
    if goes_beyond_default(selection):
        return executable
    return executable.filter(Q(exclusion="") if beyond is None else Q(exclusion="") | beyond)


def chosen_schemes(form: forms.Form, machine: Machine, *, chained: bool = False) -> list[tuple[int, str]]:
    """(id, text) of the schemes that `selection`, `filter` and `breaking` of a valid form choose on a
    machine.

    `chained`: for latencies, see `latency_schemes`.
    [] for an invalid search or one without matches, with an error added to its field.
    """
    data = form.cleaned_data
    try:
        selection = data["filter"] if data["selection"] == "filter" else data["selection"]
        select = latency_schemes if chained else select_schemes
        beyond = (
            CHAINABLE | STACKED if chained else HAS_BREAKABLE_DEPENDENCY if data.get("breaking") else None
        )
        selected_schemes = select(measurable_schemes(machine, selection, beyond), selection)
        texts = list(selected_schemes.order_by("id").values_list("pk", "text"))
    except SearchError as error:
        form.add_error("filter", str(error))
        return []
    if not texts:
        form.add_error("selection", f"{machine.name} can measure none of these schemes: choose others.")
    return texts


def schemes_config(form: forms.Form, schemes: list[tuple[int, str]]) -> Json:
    """The fields of a run's description that select the chosen schemes."""
    data = form.cleaned_data
    if data["selection"] == "filter":
        return {"schemes": [pk for pk, _ in schemes], "scheme_filter": data["filter"]}
    return {"schemes": data["selection"]}


SELECTION_WORDS = {
    "starter": "the starter set of the ISA",
    "default": "the default set of the ISA",
    "probes": "probes: one or two per kind of execution unit",
    **GROUP_SELECTIONS,
    "filter": "those matching a search",
}
"""{selection: label}, without `all`, since no machine can execute all schemes."""


def selection_field(
    usual: str = "starter", words: Mapping[str, str] = SELECTION_WORDS, help_text: str = ""
) -> forms.ChoiceField:
    """The choice of a selection of schemes; `usual`: its initial value."""
    return forms.ChoiceField(label="Schemes", choices=[*words.items()], initial=usual, help_text=help_text)


EXAMPLES = 3  # schemes that the estimate names


def search_field() -> forms.CharField:
    """The search for schemes, used with the selection `filter`."""
    return forms.CharField(
        label="Search",
        required=False,
        max_length=500,
        help_text="The scheme table's search: add ext:AVX2 -memory:W",
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false", "autocapitalize": "off"}),
    )


class MeasuringForm(RunForm):
    """A form of a run that measures: schemes, and the run's name."""

    selection = selection_field()
    filter = search_field()
    name = name_field("the run and what it measures")

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        """Require a search text for the selection `filter`."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("selection") == "filter" and not data.get("filter", "").strip():
            self.add_error("filter", "Write what to search for, or choose a named selection.")
        return data

    @classmethod
    def untouched(cls, overrides: Json | None = None) -> Self:
        """A bound form with the initial values, replaced by those in `overrides`."""
        usual = {field.name: field.initial for field in cls() if field.initial is not None}
        return cls(usual | (overrides or {}))


@dataclass(frozen=True)
class MeasuringPlan:
    """The run that a form describes: its description, number of schemes, and effort.

    `cost`: the time of each part of a run that has parts.
    """

    config: Json
    schemes: int
    examples: tuple[str, ...]
    effort: Effort
    note: str
    cost: TimeEstimate | None = None

    @classmethod
    def of(cls, machine: Machine, config: Json, schemes: list[tuple[int, str]], effort: Effort) -> Self:
        """The plan for the chosen schemes, given as (id, text)."""
        examples = tuple(text for _, text in schemes[:EXAMPLES])
        return cls(config, len(schemes), examples, effort, _pace_of(machine))

    def as_before(self, kind: str) -> Self:
        """The plan with the time that earlier runs of its kind on the machine suggest, if there are any."""
        if self.cost is not None:
            return self
        past = estimates.estimate(kind, estimates.completed(kind, self.config))
        if past.time.total is None or past.time.basis not in (Basis.ALIKE, Basis.SCALED):
            return self
        return replace(self, effort=replace(self.effort, seconds=past.time.total.likely), note=past.reason)

    @property
    def more(self) -> bool:
        return self.schemes > len(self.examples)


def _pace_of(machine: Machine) -> str:
    """The basis of the estimated time; "" if it is the machine's present rate."""
    if past := measuring_pace(machine):
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
    plan: Callable[[Machine, FormT, list[tuple[int, str]]], MeasuringPlan],
    initial: Json | None = None,
    *,
    chained: bool = False,
) -> HttpResponse:
    """The page with the form of a run that measures on one machine; a POST estimates or starts the run.

    Args:
        pk: Row id of the machine.
        kind: Kind of the run.
        template: Template of the page.
        form_class: Form of the run.
        plan: Computes the plan of a valid form from the machine, the form, and the chosen schemes.
        initial: Initial values of the form beside the defaults of its fields.
        chained: As for `chosen_schemes`.
    """
    machine = get_object_or_404(machines(), pk=pk)
    if machine.kind == Machine.Kind.PUBLISHED:
        raise Http404(f"{machine.name} has published measurements and cannot measure")
    is_post = request.method == "POST"
    form = form_class(request.POST) if is_post else form_class.untouched(initial)
    schemes = chosen_schemes(form, machine, chained=chained) if form.is_valid() else []
    estimate = plan(machine, form, schemes).as_before(kind) if schemes else None
    is_start = request.POST.get("press") == "start"
    if is_start and estimate is not None:
        run = start_run(request, kind, estimate.config, form=form)
        if run is not None:
            return redirect("run", pk=run.pk)
    context = {
        "machine": machine,
        "row": machine_view(machine),
        "hindered": obstacle_to_measuring(machine) or unsupported_runs(machine).get(kind, ""),
        "form": form if is_post else form_class(initial=initial),
        "estimate": estimate,
        "refused": is_start,
    }
    return render(request, template, context, status=400 if is_start else 200)
