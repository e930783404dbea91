"""The fields that every import has."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from anica_app.features.block_sets.import_job import FOUND_OUT, reading_of
from anica_app.features.block_sets.importing_loops import SORTS as LOOP_SORTS
from anica_app.formats.anica_documents import CONFIG, DISCOVERIES, WITNESSES
from anica_app.formats.block_scales import Bounds
from anica_app.formats.block_sets import BlockSetOptions, ColumnFacts, Look, look
from anica_app.formats.blocks_csv import WORDS, Broken, Scale
from anica_app.formats.campaign_zip import GENERALISATIONS
from anica_app.formats.file_trees import ZipTree
from anica_app.formats.incoming import Sort, sort_of_content
from anica_app.models import BasicBlockSet, Campaign
from inference.core.protocols import Json
from inference.features.uploads.query import waiting_uploads
from inference.models import PortMapping, Upload
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.errors import ExchangeError, NameTakenError
from inference.storage.instruction_sets import X86
from inference.storage.names import free_name, free_or_refuse


class BlockImportForm(forms.Form):
    """What becomes of a file: a row of `model` with this name."""

    name = forms.CharField(max_length=200, help_text="Commands and other pages find it by this name.")
    note = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))

    model: type[BasicBlockSet] | type[Campaign] = Campaign

    def clean_name(self) -> str:
        """Refuse a name in use."""
        try:
            free_or_refuse(self.model, self.cleaned_data["name"])
        except (NameTakenError, ExchangeError) as error:
            raise forms.ValidationError(str(error)) from error
        return str(self.cleaned_data["name"])


# How an uploaded file with basic blocks shall be read: the form, and what the file's beginning tells.


SEEN = 1 << 19
"""Bytes of a file with blocks that its preview looks at; the import reads all of it."""

WIDEST = 8.0
"""Instructions per cycle that hardly any processor exceeds: what answers are held against unless told."""


def beginning_of(content: bytes, file_name: str, reading: BlockSetOptions | None = None) -> tuple[Look, bool]:
    """What the first rows of a file tell, and whether these are all.

    Without a reading, broken rows are passed over, and answers held against `WIDEST`.
    """
    end = len(content) if len(content) <= SEEN else content.rfind(b"\n", 0, SEEN) + 1
    usual = BlockSetOptions(Broken.SKIP, bounds=Bounds(WIDEST))
    return look(io.BytesIO(content[: end or SEEN]), file_name, reading or usual), end == len(content)


class BlocksForm(BlockImportForm):
    """What becomes of a file with blocks, and how its rows and numbers are to be understood."""

    model = BasicBlockSet

    broken = forms.ChoiceField(
        label="Rows that cannot be read",
        choices=[
            (Broken.STOP.value, "stop at the first one and store nothing"),
            (Broken.SKIP.value, "leave them out and report them"),
        ],
        widget=forms.RadioSelect,
        initial=Broken.STOP.value,
    )
    issue_width = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=1000,
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

    def __init__(self, columns: tuple[ColumnFacts, ...], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = PortMapping.objects.filter(isa__name=X86).defer("report").order_by("name")
        self.fields["bounds"].queryset = rows  # type: ignore[attr-defined]
        self.columns = columns  # whoever reads the file again puts in what it found
        for number, column in enumerate(columns):
            how = "as detected" if column.looks is column.scale else "as they are"
            usual = f"{how}: {WORDS[column.scale]}"
            self.fields[f"numbers_{number}"] = forms.ChoiceField(
                required=False,
                label=f"The numbers of {column.name} are",
                choices=[(FOUND_OUT, usual), *((scale.value, text) for scale, text in WORDS.items())],
                widget=forms.Select(attrs={"aria-label": f"The numbers of {column.name} are"}),
            )

    @property
    def common(self) -> list[forms.BoundField]:
        """The fields that are not of a column."""
        return [field for field in self.visible_fields() if not field.name.startswith("numbers_")]

    @property
    def of_columns(self) -> list[tuple[ColumnFacts, forms.BoundField]]:
        """Each column with its field."""
        return [(column, self[f"numbers_{number}"]) for number, column in enumerate(self.columns)]

    def clean(self) -> Json:
        """Refuse two columns of weights."""
        data: Json = super().clean() or self.cleaned_data
        said = [data.pop(f"numbers_{number}", "") for number in range(len(self.columns))]
        meant = [Scale(one) if one else column.scale for one, column in zip(said, self.columns, strict=True)]
        if meant.count(Scale.WEIGHT) > 1:
            raise forms.ValidationError("One column at most can say how often a block ran.")
        data["numbers"] = said if any(said) else FOUND_OUT
        if data.get("bounds"):
            data["bounds"] = data["bounds"].name
        return data

    def reading(self) -> BlockSetOptions:
        """As a valid form has it, broken rows passed over. Raises `ExchangeError`."""
        return reading_of({**self.cleaned_data, "broken": Broken.SKIP})


# A file of AnICA's between its upload and its import: what is in it, and how it shall be read.


KIND = "import-anica"


@dataclass(frozen=True)
class Contents:
    """What a preview tells: facts as (label, value), and for blocks the look at the file's beginning."""

    sort: Sort
    facts: list[tuple[str, str]]
    look: Look | None = None
    whole: bool = True
    problem: str = ""


def anica_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a file would bring; a POST starts its import, or reads its beginning in another way."""
    found = get_object_or_404(waiting_uploads().defer(None), pk=pk)
    if sort_of_content(bytes(found.content)) in LOOP_SORTS:
        return redirect("anica-loops", pk)
    seen = _contents(found)
    form = _form(request, found, seen)
    looked = request.POST.get("press") == "look"
    if form.is_bound and form.is_valid():
        try:
            if isinstance(form, BlocksForm) and looked:
                first, whole = beginning_of(bytes(found.content), found.file_name, form.reading())
                seen = _of_blocks(first, whole=whole)
                form.columns = first.columns
            else:
                answers = {key: value for key, value in form.cleaned_data.items() if value is not None}
                name = unused_name(f"Import {found.file_name}")
                return redirect(
                    "run", submit(KIND, {"upload": found.pk, **answers}, name, user=request.user).pk
                )
        except (ExchangeError, RunsError) as error:
            form.add_error(None, str(error))
    context = {"upload": found, "seen": seen, "form": form, "sets": seen.sort is Sort.BLOCKS}
    refused = form.is_bound and bool(form.errors)
    return render(request, "anica/block_sets/import.html", context, status=400 if refused else 200)


def _form(request: HttpRequest, found: Upload, seen: Contents) -> BlockImportForm:
    stem = found.file_name.rpartition(".")[0] or found.file_name
    given: dict[str, Any] = {"data": request.POST} if request.method == "POST" else {}
    if seen.look is not None:
        names = {"name": free_name(BasicBlockSet, stem)}
        return BlocksForm(seen.look.columns, **given, initial=names)
    return BlockImportForm(**given, initial={"name": free_name(Campaign, stem)})


def _contents(found: Upload) -> Contents:
    content = bytes(found.content)
    sort = sort_of_content(content)
    if sort is None:
        raise Http404("this file is of no format of AnICA")
    if sort is Sort.BLOCKS:
        first, whole = beginning_of(content, found.file_name)
        return _of_blocks(first, whole=whole)
    try:
        names = ZipTree(io.BytesIO(content), found.file_name).names()
    except ExchangeError as error:
        return Contents(sort, [], problem=str(error))
    all_of_it = sort is Sort.ARCHIVE or CONFIG in names
    discoveries = sum(name.startswith(DISCOVERIES) for name in names) if all_of_it else 1
    traces = sum(name.startswith((WITNESSES, GENERALISATIONS)) for name in names) if all_of_it else 1
    facts = [("Generalisations with their decisions", f"{traces:,}"), ("Files", f"{len(names):,}")]
    if sort is Sort.PUBLISHED:
        facts.insert(0, ("Discoveries", f"{discoveries:,}"))
    return Contents(sort, facts)


def _of_blocks(seen: Look, *, whole: bool) -> Contents:
    facts = [
        ("Blocks", f"{seen.rows:,}"),
        ("Instructions", f"{seen.instructions:,}"),
        ("Blocks that repeat others", f"{seen.duplicates:,}"),
    ]
    return Contents(Sort.BLOCKS, facts, seen, whole=whole)


urlpatterns = [path("uploads/<int:pk>/anica/", anica_import, name="anica-import")]
