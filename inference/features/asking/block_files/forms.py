"""Forms about uploads with blocks: how rows and numbers are read, how loops are found, which become a set."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.db.models.functions import Substr

from inference.core.protocols import Json
from inference.features.asking.block_files.importer import WIDEST
from inference.features.asking.block_files.query import have_samples
from inference.features.asking.block_files.request import FOUND_OUT, MOST_KEYS, BlockImportConfig, LoopsConfig
from inference.features.library.uploads.query import waiting_uploads
from inference.formats.block_files import Weighing
from inference.formats.blocks_csv import WORDS, Broken, Scale
from inference.formats.other_formats import BEGINNING
from inference.isa.targets import names_with_blocks
from inference.models import BasicBlockSet, PortMapping, Upload
from inference.models.named import Named
from inference.storage.names import NAME_LIMIT
from inference.web.naming import usable_name
from inference.web.reading_process import SlowFileError
from inference.web.request_fields import RequestField, RequestForm, note_field


class BlockImportForm(RequestForm):
    """What becomes of a file: a row of `model` with this name."""

    request = BlockImportConfig
    name = forms.CharField(max_length=NAME_LIMIT, help_text="Commands and other pages find it by this name.")
    note = note_field()

    model: type[Named] = BasicBlockSet

    def clean_name(self) -> str:
        """Refuse a name in use."""
        return usable_name(self.model, self.cleaned_data["name"])


class BlocksForm(BlockImportForm):
    """What becomes of a file with blocks, and how its rows and numbers are to be understood."""

    broken = RequestField(
        {
            Broken.STOP.value: "stop at the first one and store nothing",
            Broken.SKIP.value: "leave them out and report them",
        },
        of=BlockImportConfig,
        label="Rows that cannot be read",
        widget=forms.RadioSelect,
        required=True,
    )
    issue_width = RequestField(
        of=BlockImportConfig,
        initial=WIDEST,
        label="Instructions per cycle",
        help_text="As many as the processor can start: 4 to 8 on today’s. Answers below what this allows are "
        "pointed at.",
    )
    bounds = forms.ModelChoiceField(
        PortMapping.objects.none(),
        required=False,
        to_field_name="name",
        label="Port mapping",
        empty_label="none",
        help_text="Answers below the cycles that its ports need are pointed at as well.",
    )

    def __init__(self, seen: Json, initial: Json, data: Any = None) -> None:
        super().__init__(data, initial=initial)
        rows = PortMapping.objects.filter(isa__name__in=names_with_blocks()).defer("report").order_by("name")
        self.set_choices(bounds=rows)
        self.columns: list[Json] = seen["columns"]
        self.usual = [Scale(one) for one in seen["usual"]]
        said = initial.get("numbers") or FOUND_OUT
        each = said if isinstance(said, list) else [said] * len(self.columns)
        for number, (column, usual, before) in enumerate(zip(self.columns, self.usual, each, strict=False)):
            how = "as detected" if column["looks"] == usual else "as they are"
            self.fields[f"numbers_{number}"] = forms.ChoiceField(
                required=False,
                label=f"The numbers of {column['name']} are",
                initial=before,
                choices=[
                    (FOUND_OUT, f"{how}: {WORDS[usual]}"),
                    *((scale.value, text) for scale, text in WORDS.items()),
                ],
                widget=forms.Select(attrs={"aria-label": f"The numbers of {column['name']} are"}),
            )

    @property
    def common(self) -> list[forms.BoundField]:
        """The fields that are not of a column."""
        return [field for field in self.visible_fields() if not field.name.startswith("numbers_")]

    @property
    def of_columns(self) -> list[tuple[Json, str, forms.BoundField]]:
        """Each column with what its numbers look like, in words, and its field."""
        return [
            (column, WORDS[Scale(column["looks"])], self[f"numbers_{number}"])
            for number, column in enumerate(self.columns)
        ]

    def clean(self) -> Json:
        """Refuse two columns of weights."""
        data: Json = super().clean() or self.cleaned_data
        said = [data.pop(f"numbers_{number}", "") for number in range(len(self.columns))]
        meant = [Scale(one) if one else usual for one, usual in zip(said, self.usual, strict=True)]
        if meant.count(Scale.WEIGHT) > 1:
            raise forms.ValidationError("One column at most can say how often a block ran.")
        data["numbers"] = said if any(said) else FOUND_OUT
        if data.get("bounds"):
            data["bounds"] = data["bounds"].name
        return data


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
