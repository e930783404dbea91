"""Forms about the loops of an uploaded program: how to find them, and which become a set."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.db.models.functions import Substr

from inference.core.protocols import Json
from inference.features.asking.block_files.import_forms import BlockImportForm
from inference.features.asking.block_files.recognition import have_samples
from inference.features.asking.block_files.request import MOST_KEYS, LoopsConfig
from inference.features.library.uploads.query import waiting_uploads
from inference.formats.block_files import Weighing
from inference.formats.other_formats import BEGINNING
from inference.models import Upload
from inference.web.reading_process import SlowFileError
from inference.web.request_fields import RequestField, RequestForm

ALL, SHARE, TICKED = "all", "share", "ticked"

_WEIGHING = {
    Weighing.SAMPLES.value: "its samples: the time spent in it",
    Weighing.ITERATIONS.value: "how often it ran, by branch records",
}


def uploads_with_beginnings() -> QuerySet[Any]:
    """The waiting uploads, newest first, each with the first bytes of its content as `beginning`."""
    return waiting_uploads().annotate(beginning=Substr("content", 1, BEGINNING)).order_by("-id")


def waiting_samples() -> QuerySet[Upload]:
    """The waiting uploads that have samples of perf, newest first; their beginnings tell."""
    rows = list(uploads_with_beginnings())
    try:
        answers = have_samples([bytes(row.beginning) for row in rows]) if rows else []
    except SlowFileError:  # the page of the file itself says so
        answers = []
    ids = [row.pk for row, has_samples in zip(rows, answers, strict=False) if has_samples]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


def waiting_programs() -> QuerySet[Upload]:
    """The waiting uploads that are compiled programs, newest first."""
    ids = [row.pk for row in uploads_with_beginnings() if bytes(row.beginning)[:4] == b"\x7fELF"]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


class SearchForm(RequestForm):
    """How loops are found and weighed."""

    request = LoopsConfig
    functions = RequestField(
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
    program = RequestField(
        label="Name in the samples",
        help_text="Where perf calls this file otherwise.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    weighing = RequestField(_WEIGHING, label="A loop’s weight is", required=True)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = waiting_samples()
        self.set_choices(samples=rows)
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


class ListingForm(BlockImportForm):
    """What becomes of a listing."""

    functions = SearchForm.base_fields["functions"]


class ChooseForm(BlockImportForm):
    """Which of the loops that were found become a set."""

    beside = frozenset({"loop"})
    which = forms.ChoiceField(choices=[(ALL, ""), (SHARE, ""), (TICKED, "")], initial=ALL)
    least = RequestField(
        of=LoopsConfig,
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
