"""Experiment sets: the list, a set with its measurements, its export, name and note; merging several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.features.library.sets.job import MergedSets
from inference.features.library.sets.merging import SETS, Conflicts
from inference.features.library.sets.query import (
    MEASUREMENT_COLUMNS,
    SET_COLUMNS,
    experiment_sets,
    measurements_in,
    summary_of,
)
from inference.formats.errors import ExchangeError
from inference.isa.search import SearchError
from inference.models import ExperimentSet, Measurement
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.evaluations import evaluations_on
from inference.storage.exporting import SET_EXPORTS
from inference.storage.rows import StoredMeasurement, measurements_of
from inference.web.contributions import MenuPlace, entries_of
from inference.web.file_answers import export_path
from inference.web.listed_mappings import evaluation_url
from inference.web.naming import naming_paths, usable_name
from inference.web.paging import Order, Page, list_page, page_of
from inference.web.request_fields import RequestField, RequestForm, note_field
from inference.web.validation import one_of, whole_number

COUNTED = 10_000
"""Measurements that a filter finds that are counted; of more, the page says that there are more."""
MEANINGS = (
    (Measurement.State.SETTLED, "passes agree; mappings are learnt from these and judged by them"),
    (Measurement.State.UNSETTLED, "passes do not agree; not used"),
    (Measurement.State.CONTENDED, "the computer was too disturbed; not used"),
    (Measurement.State.FAILED, "no number; each row says why"),
)


def sets(request: HttpRequest) -> HttpResponse:
    """All experiment sets, newest first, filtered by name or note."""
    offers = entries_of(MenuPlace.SET)
    return list_page(
        request,
        "inference/sets/list.html",
        experiment_sets,
        SET_COLUMNS,
        "-added",
        lambda page: {"offers": offers},
    )


@dataclass(frozen=True)
class MeasurementRow:
    """A measurement as its table shows it; `answers` are those of the page's tools, None for no answer."""

    stored: StoredMeasurement
    answers: list[float | None]

    @property
    def cycles_per_instruction(self) -> float | None:
        """Cycles divided by the number of instructions."""
        value = self.stored.value
        return None if value.cycles is None else value.cycles / value.experiment.length


def _rows(page: Page[Measurement]) -> tuple[list[MeasurementRow], list[str]]:
    """The page's measurements as values, and the tools that have answers for some of them."""
    found = measurements_of(Measurement.objects.filter(pk__in=[row.pk for row in page.rows]))
    values = {stored.id: stored for stored in found}
    tools = sorted({tool for stored in found for tool in stored.value.annotations})
    rows = [
        MeasurementRow(stored, [stored.value.annotations.get(tool) for tool in tools])
        for stored in (values[row.pk] for row in page.rows if row.pk in values)
    ]
    return rows, tools


def harness_of(identity: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a set was measured with, as label and value: everything that could have changed the answers."""
    return [(label.replace("_", " ").capitalize(), text) for label, text in _flat(identity, "")]


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, entry in value.items():
        if isinstance(entry, Mapping):
            yield from _flat(entry, f"{prefix}{key}: ")
        elif entry not in (None, ""):
            yield f"{prefix}{key}", str(entry)


def experiment_set(request: HttpRequest, pk: int) -> HttpResponse:
    """A set: its numbers, who predicts it how well, and its measurements."""
    found = get_object_or_404(ExperimentSet.objects.select_related("isa", "machine", "run"), pk=pk)
    q = request.GET.get("q", "").strip()
    length = whole_number(request, "length")
    state = one_of(request, "state", tuple(Measurement.State.values))
    order = Order.read(request.GET.get("sort", ""), MEASUREMENT_COLUMNS, "row")
    page: Page[Measurement] = Page((), 0)
    summary = summary_of(found)
    error = ""
    try:
        chosen = measurements_in(found, q, length, state)
        filtered = bool(q or length is not None or state)
        page = page_of(
            chosen,
            order,
            MEASUREMENT_COLUMNS,
            request.GET.get("page", ""),
            total=None if filtered else summary.measurements,
            most=COUNTED,
        )
    except SearchError as problem:
        error = str(problem)
    rows, tools = _rows(page)
    return render(
        request,
        "inference/sets/set.html",
        {
            "set": found,
            "summary": summary,
            "has_pairs": {1, 2} <= set(summary.lengths),
            "harness": harness_of(found.identity),
            "exports": SET_EXPORTS.items(),
            "resolved": Conflicts(found.making["conflicts"]).label if "conflicts" in found.making else "",
            "offers": entries_of(MenuPlace.SET),
            "evaluations": [(row, evaluation_url(row)) for row in evaluations_on(found)],
            "page": page,
            "rows": rows,
            "tools": tools,
            "q": q,
            "wanted_length": length,
            "wanted_state": state,
            "states": Measurement.State.choices,
            "meanings": MEANINGS,
            "sort": "" if order.column == "row" else str(order),
            "error": error,
        },
        status=400 if error else 200,
    )


_OFFERED = 200  # the newest ones; others are merged by shell and API


class MergeForm(RequestForm):
    """Sets, the name of the new one, and how conflicts are resolved."""

    request = MergedSets
    sets = forms.MultipleChoiceField(
        label="Sets",
        help_text=f"{SETS[0]} to {SETS[1]} of one instruction set.",
        widget=forms.CheckboxSelectMultiple,
    )
    leading = forms.ChoiceField(
        label="The first one",
        required=False,
        help_text="Where several have an experiment and agree, its number is taken.",
    )
    name = forms.CharField(
        label="Name of the new set",
        max_length=180,
        help_text="Commands and other pages find it by this name.",
    )
    conflicts = RequestField(
        {each.value: each.label for each in Conflicts},
        label="Where they contradict each other",
        widget=forms.RadioSelect,
        help_text="The new set keeps this choice, and how often it was needed.",
        required=True,
    )
    tolerance = RequestField(
        label="A contradiction is a difference of more than, per cent",
        help_text="Of the smaller number. Where numbers are closer, the first set counts.",
        required=True,
    )
    note = note_field()

    def __init__(self, sets: list[ExperimentSet], data: object = None, initial: object = None) -> None:
        super().__init__(data, initial=initial)  # type: ignore[arg-type]
        self.rows = {str(each.pk): each for each in sets}
        choices = [(pk, f"{each.name} ({each.isa.name})") for pk, each in self.rows.items()]
        self.set_choices(sets=choices, leading=[("", "the newest of those chosen"), *choices])

    def clean_name(self) -> str:
        return usable_name(ExperimentSet, self.cleaned_data["name"])

    def clean(self) -> dict[str, object]:
        """The ids in the order in which the sets count."""
        found: dict[str, object] = super().clean() or {}
        chosen, leading = list(found.get("sets") or ()), found.pop("leading", "")  # type: ignore[call-overload]
        if leading and leading not in chosen:
            self.add_error("leading", "choose one of the sets that are merged")
        found["sets"] = [int(pk) for pk in sorted(chosen, key=lambda pk: pk != leading)]
        return found


def sets_merge(request: HttpRequest) -> HttpResponse:
    """The form; a POST starts the run that merges."""
    wanted = [each for each in request.GET.getlist("set") if each.isdecimal()]
    found = ExperimentSet.objects.select_related("isa").defer("summary", "making", "identity")
    sets = list(found.order_by("-id")[:_OFFERED])
    names = {str(each.pk): each.name for each in sets}
    initial = {
        "sets": wanted,
        "leading": wanted[0] if wanted else "",
        "name": " and ".join(names[each] for each in wanted if each in names)[:180],
    }
    form = MergeForm(sets, request.POST if request.method == "POST" else None, initial)
    if form.is_bound and form.is_valid():
        name = unused_name(f"Merge into {form.cleaned_data['name']}"[:180])
        try:
            run = submit("merge-sets", form.cleaned_data, name, user=request.user)
        except (ExchangeError, RunsError) as error:
            form.add_error(None, str(error))
        else:
            return redirect("run", run.pk)
    status = 400 if form.is_bound else 200
    return render(request, "inference/sets/merge.html", {"form": form, "sets": sets}, status=status)


urlpatterns = [
    path("sets/", sets, name="sets"),
    path("sets/<int:pk>/", experiment_set, name="set"),
    export_path(ExperimentSet.objects.select_related("isa", "machine", "run"), "set", "sets", SET_EXPORTS),
    *naming_paths(ExperimentSet, "set", "sets"),
    path("sets/merge/", sets_merge, name="sets-merge"),
]
