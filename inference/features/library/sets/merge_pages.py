"""Merging experiment sets: which, and what becomes of experiments that they contradict each other on."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from inference.features.library.sets.job import MergedSets
from inference.features.library.sets.merging import SETS, Conflicts
from inference.formats.problems import ExchangeError
from inference.models import ExperimentSet
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.web.naming import usable_name
from inference.web.request_fields import RequestField, RequestForm, note_field

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
    path("sets/merge/", sets_merge, name="sets-merge"),
]
