"""Pages of experiment sets: the list, a set with its measurements, export, name and note; merging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.judging.group_laws import GroupLaw, GroupTimes
from inference.features.library.sets.job import MergedSets
from inference.features.library.sets.merging import SETS, Conflicts
from inference.features.library.sets.query import (
    MEASUREMENT_COLUMNS,
    SET_COLUMNS,
    experiment_sets,
    measurements_in,
    register_groups_in,
    summary_of,
)
from inference.formats.problems import ExchangeError
from inference.isa.search import SearchError
from inference.models import ExperimentSet, Measurement
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit
from inference.storage.evaluations import evaluations_on
from inference.storage.exporting import SET_EXPORTS
from inference.storage.rows import StoredMeasurement, measurements_of
from inference.web.contributions import MenuPlace, entries_of
from inference.web.file_answers import export_path
from inference.web.listed_mappings import evaluation_url
from inference.web.naming import naming_paths
from inference.web.paging import Order, Page, list_page, page_of
from inference.web.request_fields import RequestField, RequestForm, form_page, note_field, validated_name
from inference.web.validation import choice_parameter, number_parameter

COUNTED = 10_000
"""Number of filtered measurements up to which they are counted exactly."""
MEANINGS = (
    (Measurement.State.SETTLED, "passes agree; used for training and judging mappings"),
    (Measurement.State.UNSETTLED, "passes disagree; not used"),
    (Measurement.State.CONTENDED, "the computer was too noisy; not used"),
    (Measurement.State.FAILED, "no time; each row states the reason"),
)


def sets(request: HttpRequest) -> HttpResponse:
    """Lists experiment sets, newest first, filtered by name or note."""
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
    """A row of the table; `answers` are in the order of the page's tools, None for no answer."""

    stored: StoredMeasurement
    answers: list[float | None]

    @property
    def cycles_per_instruction(self) -> float | None:
        """CPI, None without a time."""
        value = self.stored.value
        return None if value.cycles is None else value.cycles / value.experiment.length


def _rows(page: Page[Measurement]) -> tuple[list[MeasurementRow], list[str]]:
    """(rows of the page, tools with an answer in any row)."""
    measurements = measurements_of(Measurement.objects.filter(pk__in=[row.pk for row in page.rows]))
    values = {stored.id: stored for stored in measurements}
    tools = sorted({tool for stored in measurements for tool in stored.value.annotations})
    rows = [
        MeasurementRow(stored, [stored.value.annotations.get(tool) for tool in tools])
        for stored in (values[row.pk] for row in page.rows if row.pk in values)
    ]
    return rows, tools


_HARNESS_LABELS = {
    "cpu": "CPU",
    "settings: tolerance": "Tolerance of passes, cycles per instruction",
    "settings: min_passes": "Fewest passes",
    "settings: max_passes": "Most passes",
    "settings: repetitions": "Samples per pass",
    "settings: sample_us": "Length of a sample, µs",
    "settings: patience": "Longest wait for an undisturbed pass, s",
    "settings: timeout": "Time limit of an experiment, s",
    "frame: isa": "Instruction set",
    "frame: avx": "AVX",
    "frame: memory_bytes": "Memory, bytes",
    "frame: memory_register": "Memory register",
    "frame: counter_register": "Loop counter",
    "frame: vector": "Start value of vectors",
    "frame: memory": "Start value of memory",
}
"""{key in the identity: label}; others are written as they are."""


def harness_of(identity: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(label, value) of the settings that affect a set's measurements."""
    return [
        (
            _HARNESS_LABELS.get(
                key, key.replace("_", " ").replace("frame: registers: ", "start value of ").capitalize()
            ),
            text,
        )
        for key, text in _flat(identity, "")
    ]


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, entry in value.items():
        if isinstance(entry, Mapping):
            yield from _flat(entry, f"{prefix}{key}: ")
        elif entry not in (None, ""):
            yield f"{prefix}{key}", str(entry)


def experiment_set(request: HttpRequest, pk: int) -> HttpResponse:
    """A set: its numbers, evaluations, and measurements."""
    set_row = get_object_or_404(ExperimentSet.objects.select_related("isa", "machine", "run"), pk=pk)
    q = request.GET.get("q", "").strip()
    length = number_parameter(request, "length")
    state = choice_parameter(request, "state", tuple(Measurement.State.values))
    order = Order.read(request.GET.get("sort", ""), MEASUREMENT_COLUMNS, "row")
    page: Page[Measurement] = Page((), 0)
    summary = summary_of(set_row)
    error = ""
    try:
        measurements = measurements_in(set_row, q, length, state)
        filtered = bool(q or length is not None or state)
        page = page_of(
            measurements,
            order,
            MEASUREMENT_COLUMNS,
            request.GET.get("page", ""),
            total=None if filtered else summary.measurements,
            count_limit=COUNTED,
        )
    except SearchError as problem:
        error = str(problem)
    rows, tools = _rows(page)
    return render(
        request,
        "inference/sets/set.html",
        {
            "set": set_row,
            "summary": summary,
            "has_pairs": {1, 2} <= set(summary.lengths),
            "harness": harness_of(set_row.identity),
            "groups": _groups_by_law(set_row),
            "exports": SET_EXPORTS.items(),
            "resolved": Conflicts(set_row.making["conflicts"]).label if "conflicts" in set_row.making else "",
            "offers": entries_of(MenuPlace.SET),
            "evaluations": [(row, evaluation_url(row)) for row in evaluations_on(set_row)],
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


def _groups_by_law(set_row: ExperimentSet) -> list[tuple[str, list[GroupTimes]]]:
    """(law, instructions) in the order of laws, without those of none."""
    times = register_groups_in(set_row)
    by_law = [(law.value, [entry for entry in times if entry.law is law]) for law in GroupLaw]
    return [(law, entries) for law, entries in by_law if entries]


_OFFERED = 200  # newest sets in the form; older ones are merged by shell and API


class MergeForm(RequestForm):
    """The form: sets, name of the new one, and the rule for conflicts."""

    request = MergedSets
    sets = forms.MultipleChoiceField(
        label="Sets",
        help_text=f"{SETS[0]} to {SETS[1]} of one instruction set.",
        widget=forms.CheckboxSelectMultiple,
    )
    leading = forms.ChoiceField(
        label="First set",
        required=False,
        help_text="Its times are taken for experiments on which several sets agree.",
    )
    name = forms.CharField(
        label="Name of the new set",
        max_length=180,
        help_text="Commands and other pages refer to it by this name.",
    )
    conflicts = RequestField(
        {rule.value: rule.label for rule in Conflicts},
        label="Conflicts",
        widget=forms.RadioSelect,
        help_text="Stored with the new set, with the number of conflicts.",
        required=True,
    )
    tolerance = RequestField(
        label="Tolerance in per cent",
        help_text="Relative to the smaller time. Larger differences are conflicts; below that, the first "
        "set's number is used.",
        required=True,
    )
    note = note_field()

    def __init__(self, sets: list[ExperimentSet], data: object = None, initial: object = None) -> None:
        super().__init__(data, initial=initial)  # type: ignore[arg-type]
        self.rows = {str(row.pk): row for row in sets}
        choices = [(pk, f"{row.name} ({row.isa.name})") for pk, row in self.rows.items()]
        self.set_choices(sets=choices, leading=[("", "the newest selected set"), *choices])

    def clean_name(self) -> str:
        return validated_name(ExperimentSet, self.cleaned_data["name"])

    def clean(self) -> dict[str, object]:
        """Cleaned data with ids in order of priority."""
        data: dict[str, object] = super().clean() or {}
        selected_sets, leading = list(data.get("sets") or ()), data.pop("leading", "")  # type: ignore[call-overload]
        if leading and leading not in selected_sets:
            self.add_error("leading", "choose one of the selected sets")
        data["sets"] = [int(pk) for pk in sorted(selected_sets, key=lambda pk: pk != leading)]
        return data


def sets_merge(request: HttpRequest) -> HttpResponse:
    """The form; a POST starts the run."""
    selected = [pk for pk in request.GET.getlist("set") if pk.isdecimal()]
    rows = ExperimentSet.objects.select_related("isa").defer("summary", "making", "identity")
    sets = list(rows.order_by("-id")[:_OFFERED])
    names = {str(row.pk): row.name for row in sets}
    initial = {
        "sets": selected,
        "leading": selected[0] if selected else "",
        "name": " and ".join(names[pk] for pk in selected if pk in names)[:180],
    }
    form = MergeForm(sets, request.POST if request.method == "POST" else None, initial)
    if form.is_bound and form.is_valid():
        try:
            run = submit("merge-sets", form.cleaned_data, user=request.user)
        except (ExchangeError, RunsError) as error:
            form.add_error(None, str(error))
        else:
            return redirect("run", run.pk)
    return form_page(request, "inference/sets/merge.html", form, sets=sets)


urlpatterns = [
    path("sets/", sets, name="sets"),
    path("sets/<int:pk>/", experiment_set, name="set"),
    export_path(ExperimentSet.objects.select_related("isa", "machine", "run"), "set", "sets", SET_EXPORTS),
    *naming_paths(ExperimentSet, "set", "sets"),
    path("sets/merge/", sets_merge, name="sets-merge"),
]
