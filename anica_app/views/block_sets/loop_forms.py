"""Forms about the loops of an uploaded program: how to find them, and which become a set."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.db.models.functions import Substr

from anica_app.campaigning.loop_config import MOST_KEYS
from anica_app.exchange.incoming import Sort, sort_of_content
from anica_app.exchange.perf_texts import is_annotate
from anica_app.exchange.program_loops import Weighing
from anica_app.models import BasicBlockSet
from anica_app.views.naming_form import ImportForm
from inference.core.protocols import Json
from inference.features.uploads.query import waiting_uploads
from inference.formats.other_formats import BEGINNING
from inference.models import Upload

ALL, SHARE, TICKED = "all", "share", "ticked"

_WEIGHING = {
    Weighing.SAMPLES: "its samples: the time spent in it",
    Weighing.ITERATIONS: "how often it ran, by branch records",
}


def waiting_samples() -> QuerySet[Upload]:
    """The waiting uploads that have samples of perf, newest first; their beginnings tell."""
    rows = waiting_uploads().annotate(beginning=Substr("content", 1, BEGINNING)).order_by("-id")
    ids = [row.pk for row in rows if _has_samples(bytes(row.beginning))]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


def waiting_programs() -> QuerySet[Upload]:
    """The waiting uploads that are compiled programs, newest first."""
    rows = waiting_uploads().annotate(beginning=Substr("content", 1, BEGINNING)).order_by("-id")
    ids = [row.pk for row in rows if bytes(row.beginning)[:4] == b"\x7fELF"]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


def _has_samples(beginning: bytes) -> bool:
    sort = sort_of_content(beginning)
    return sort is Sort.SAMPLES or (
        sort is Sort.LISTING and is_annotate(beginning.decode("utf-8-sig", "replace"))
    )


class SearchForm(forms.Form):
    """How loops are found and weighed."""

    functions = forms.CharField(
        required=False,
        max_length=300,
        label="Functions",
        help_text="A name or a pattern like mat*; empty for all.",
        widget=forms.TextInput(attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false"}),
    )
    samples = forms.ModelChoiceField(
        Upload.objects.none(),
        required=False,
        empty_label="none: every loop weighs 1",
        label="Samples",
        help_text="What perf script or perf annotate --stdio printed, uploaded beside this file.",
    )
    program = forms.CharField(
        required=False,
        max_length=300,
        label="Name in the samples",
        help_text="Where perf calls this file otherwise.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    weighing = forms.ChoiceField(
        label="A loop’s weight is", choices=[(one.value, text) for one, text in _WEIGHING.items()]
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = waiting_samples()
        self.fields["samples"].queryset = rows  # type: ignore[attr-defined]
        newest = rows.first()
        if newest is not None:
            self.fields["samples"].initial = newest.pk

    def config(self, upload: Upload) -> Json:
        """The description of a run, of a valid form."""
        data = self.cleaned_data
        return {
            "upload": upload.pk,
            "functions": data["functions"].strip(),
            "program": data["program"].strip(),
            "samples": data["samples"].pk if data["samples"] else None,
            "weighing": data["weighing"] if data["samples"] else Weighing.SAMPLES.value,
        }


class ListingForm(ImportForm):
    """What becomes of a listing."""

    model = BasicBlockSet

    functions = SearchForm.base_fields["functions"]


class ChooseForm(ImportForm):
    """Which of the loops that were found become a set."""

    model = BasicBlockSet

    which = forms.ChoiceField(choices=[(ALL, ""), (SHARE, ""), (TICKED, "")], initial=ALL)
    least = forms.FloatField(
        required=False,
        min_value=0,
        max_value=100,
        initial=1,
        widget=forms.NumberInput(
            attrs={"class": "short-number", "step": "any", "aria-label": "Per cent of all samples"}
        ),
    )

    def __init__(self, keys: list[str], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.keys = keys

    def clean(self) -> Json:
        """Refuse a choice of nothing."""
        data: Json = super().clean() or self.cleaned_data
        data["loops"] = self.keys[:MOST_KEYS]
        if data.get("which") == TICKED and not data["loops"]:
            raise forms.ValidationError("Tick a loop, or take all of them.")
        return data

    def config(self, looked: Json) -> Json:
        """The description of the import, after the search with this description."""
        data = self.cleaned_data
        ticked = data["which"] == TICKED
        return {
            **looked,
            "name": data["name"],
            "note": data["note"],
            "least": (data["least"] or 0.0) if data["which"] == SHARE else 0.0,
            "loops": data["loops"] if ticked else [],
        }
