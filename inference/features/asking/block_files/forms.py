"""Forms for uploads with blocks: how rows and numbers are read, and which loops are searched and imported."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.db.models.functions import Substr

from inference.core.protocols import Json
from inference.features.asking.block_files.importer import LARGEST_ISSUE_WIDTH
from inference.features.asking.block_files.query import have_samples
from inference.features.asking.block_files.request import DETECTED, MAX_KEYS, BlockImportConfig, LoopsConfig
from inference.features.library.uploads.query import waiting_uploads
from inference.formats.block_files import Weighing
from inference.formats.blocks_csv import SCALE_LABELS, BrokenRows, Scale
from inference.formats.other_formats import BEGINNING
from inference.isa.code.binaries.program import is_program
from inference.isa.targets import names_with_blocks
from inference.models import BasicBlockSet, PortMapping, Upload
from inference.models.named import Named
from inference.storage.names import NAME_LIMIT
from inference.web.reading_process import SlowFileError
from inference.web.request_fields import RequestField, RequestForm, note_field, validated_name


class BlockImportForm(RequestForm):
    """The name and note of the row of `model` that a file becomes."""

    request = BlockImportConfig
    name = forms.CharField(max_length=NAME_LIMIT, help_text="Commands and other pages find it by this name.")
    note = note_field()

    model: type[Named] = BasicBlockSet

    def clean_name(self) -> str:
        return validated_name(self.model, self.cleaned_data["name"])


class BlocksForm(BlockImportForm):
    """The import of a table of blocks: how its rows and numbers are read."""

    broken = RequestField(
        {
            BrokenRows.STOP.value: "stop at the first one and store nothing",
            BrokenRows.SKIP.value: "leave them out and report them",
        },
        of=BlockImportConfig,
        label="Unreadable rows",
        widget=forms.RadioSelect,
        required=True,
    )
    issue_width = RequestField(
        of=BlockImportConfig,
        initial=LARGEST_ISSUE_WIDTH,
        label="Instructions per cycle",
        help_text="The processor’s issue width, 4 to 8 today. The report lists answers faster than this.",
    )
    bounds = forms.ModelChoiceField(
        PortMapping.objects.none(),
        required=False,
        to_field_name="name",
        label="Port mapping",
        empty_label="none",
        help_text="The report also lists answers below its port bound.",
    )

    def __init__(self, reading: Json, initial: Json, data: Any = None) -> None:
        super().__init__(data, initial=initial)
        rows = PortMapping.objects.filter(isa__name__in=names_with_blocks()).defer("report").order_by("name")
        self.set_choices(bounds=rows)
        self.columns: list[Json] = reading["columns"]
        self.usual = [Scale(value) for value in reading["usual"]]
        numbers = initial.get("numbers") or DETECTED
        per_column = numbers if isinstance(numbers, list) else [numbers] * len(self.columns)
        for number, (column, usual, before) in enumerate(
            zip(self.columns, self.usual, per_column, strict=False)
        ):
            how = "as detected" if column["looks"] == usual else "as they are"
            self.fields[f"numbers_{number}"] = forms.ChoiceField(
                required=False,
                label=f"The numbers of {column['name']} are",
                initial=before,
                choices=[
                    (DETECTED, f"{how}: {SCALE_LABELS[usual]}"),
                    *((scale.value, text) for scale, text in SCALE_LABELS.items()),
                ],
                widget=forms.Select(attrs={"aria-label": f"The numbers of {column['name']} are"}),
            )

    @property
    def common(self) -> list[forms.BoundField]:
        """The fields that do not belong to a column."""
        return [field for field in self.visible_fields() if not field.name.startswith("numbers_")]

    @property
    def of_columns(self) -> list[tuple[Json, str, forms.BoundField]]:
        """(column, the words of the scale that its numbers suggest, field) of each column."""
        return [
            (column, SCALE_LABELS[Scale(column["looks"])], self[f"numbers_{number}"])
            for number, column in enumerate(self.columns)
        ]

    def clean(self) -> Json:
        data: Json = super().clean() or self.cleaned_data
        numbers = [data.pop(f"numbers_{number}", "") for number in range(len(self.columns))]
        meant = [Scale(scale) if scale else usual for scale, usual in zip(numbers, self.usual, strict=True)]
        if meant.count(Scale.WEIGHT) > 1:
            raise forms.ValidationError("Only one column can have weights.")
        data["numbers"] = numbers if any(numbers) else DETECTED
        if data.get("bounds"):
            data["bounds"] = data["bounds"].name
        return data


ALL, SHARE, TICKED = "all", "share", "ticked"

_WEIGHING = {
    Weighing.SAMPLES.value: "its samples: the time spent in it",
    Weighing.ITERATIONS.value: "how often it ran, by branch records",
}


def uploads_with_beginnings() -> QuerySet[Any]:
    """The waiting uploads, newest first, each with its `first_bytes`."""
    return waiting_uploads().annotate(first_bytes=Substr("beginning", 1, BEGINNING)).order_by("-id")


def waiting_samples() -> QuerySet[Upload]:
    """The waiting uploads with samples of perf, judged by their beginnings, newest first."""
    rows = list(uploads_with_beginnings())
    try:
        answers = have_samples([bytes(row.first_bytes) for row in rows]) if rows else []
    except SlowFileError:  # the page of that file reports it
        answers = []
    ids = [row.pk for row, has_samples in zip(rows, answers, strict=False) if has_samples]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


def waiting_programs() -> QuerySet[Upload]:
    """The waiting uploads that are compiled programs, newest first."""
    ids = [row.pk for row in uploads_with_beginnings() if is_program(bytes(row.first_bytes))]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


class SearchForm(RequestForm):
    """The search for loops in a program, and their weights."""

    request = LoopsConfig
    functions = RequestField(
        help_text="A name, or a pattern like mat*; empty: all functions.",
        widget=forms.TextInput(attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false"}),
    )
    samples = forms.ModelChoiceField(
        Upload.objects.none(),
        required=False,
        empty_label="none: every loop weighs 1",
        label="Samples",
        help_text="The output of perf script or perf annotate --stdio, uploaded beside this file.",
    )
    program = RequestField(
        label="Name in the samples",
        help_text="The name of this file in the output of perf, if it differs.",
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
    functions = SearchForm.base_fields["functions"]


class ChooseForm(BlockImportForm):
    """The import of some or all loops of a search."""

    extra_fields = frozenset({"loop"})
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
        data: Json = super().clean() or self.cleaned_data
        data["loops"] = self.keys[:MAX_KEYS]
        if data.get("which") == TICKED and not data["loops"]:
            raise forms.ValidationError("Tick at least one loop, or choose all.")
        return data

    def config(self, search: Json) -> Json:
        """The description of the import, after the search with this description."""
        data = self.cleaned_data
        ticked = data["which"] == TICKED
        return {
            **search,
            "name": data["name"],
            "note": data["note"],
            "least": (data["least"] or 0.0) if data["which"] == SHARE else 0.0,
            "loops": data["loops"] if ticked else [],
        }
