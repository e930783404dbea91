"""A file of AnICA's between its upload and its import: what is in it, and how it shall be read."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from anica_app.exchange.anica_documents import CONFIG, DISCOVERIES, WITNESSES
from anica_app.exchange.block_sets import Look, Reading, look
from anica_app.exchange.blocks_csv import Broken, Scale
from anica_app.exchange.campaign_zip import GENERALISATIONS
from anica_app.exchange.file_trees import Archive
from anica_app.exchange.incoming import Sort, sort_of_content
from anica_app.models import BasicBlockSet, Campaign
from inference.exchange.errors import ExchangeError, NameTakenError
from inference.exchange.instruction_sets import X86
from inference.exchange.names import free_name, free_or_refuse
from inference.models import PortMapping, Upload
from inference.queries.uploads import waiting_uploads
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.views.runs.pages import SUMMARIES

KIND = "import-anica"
SEEN = 1 << 19
"""Bytes of a file with blocks that its preview looks at; the import reads all of it."""

SUMMARIES[KIND] = "A basic-block set or a campaign from a file"


@dataclass(frozen=True)
class Contents:
    """What a preview tells: facts as (label, value), and for blocks the look at the file's beginning."""

    sort: Sort
    facts: list[tuple[str, str]]
    look: Look | None = None
    whole: bool = True
    problem: str = ""


class ImportForm(forms.Form):
    """What becomes of the file."""

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


class BlocksForm(ImportForm):
    """How a basic-block set is read besides."""

    model = BasicBlockSet

    broken = forms.ChoiceField(
        label="Rows that cannot be read",
        choices=[
            (Broken.STOP.value, "stop at the first one, and store nothing"),
            (Broken.SKIP.value, "leave them out and report them"),
        ],
        widget=forms.RadioSelect,
        initial=Broken.STOP.value,
    )
    numbers = forms.ChoiceField(
        required=False,
        label="Its numbers are",
        choices=[
            ("", "what they look like, see above"),
            (Scale.CYCLES.value, "cycles per execution"),
            (Scale.HUNDREDTHS.value, "cycles of a hundred executions (BHive)"),
            (Scale.WEIGHT.value, "how often a block ran"),
        ],
    )
    issue_width = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=1000,
        label="Instructions per cycle",
        help_text="As many as the processor can start. Answers below what this allows are pointed at.",
    )
    bounds = forms.ModelChoiceField(
        PortMapping.objects.none(),
        required=False,
        to_field_name="name",
        label="Port mapping",
        empty_label="none",
        help_text="Answers below the cycles that its ports need are pointed at as well.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = PortMapping.objects.filter(isa__name=X86).defer("report").order_by("name")
        self.fields["bounds"].queryset = rows  # type: ignore[attr-defined]


def anica_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a file would bring; a POST starts its import."""
    found = get_object_or_404(waiting_uploads().defer(None), pk=pk)
    seen = _contents(found)
    cls = BlocksForm if seen.sort is Sort.BLOCKS else ImportForm
    proposed = free_name(cls.model, found.file_name.rpartition(".")[0] or found.file_name)
    form = cls(request.POST or None, initial={"name": proposed})
    if form.is_bound and form.is_valid():
        answers = dict(form.cleaned_data)
        if answers.get("bounds"):
            answers["bounds"] = answers["bounds"].name
        config = {"upload": found.pk, **{key: value for key, value in answers.items() if value is not None}}
        try:
            run = submit(KIND, config, unused_name(f"Import {found.file_name}"), user=request.user)
            return redirect("run", run.pk)
        except RunsError as error:
            form.add_error(None, str(error))
    context = {"upload": found, "seen": seen, "form": form}
    return render(request, "anica/import.html", context, status=400 if form.is_bound else 200)


def _contents(found: Upload) -> Contents:
    content = bytes(found.content)
    sort = sort_of_content(content)
    if sort is None:
        raise Http404("this file is of no format of AnICA")
    if sort is Sort.BLOCKS:
        return _blocks(content, found.file_name)
    try:
        names = Archive(io.BytesIO(content), found.file_name).names()
    except ExchangeError as error:
        return Contents(sort, [], problem=str(error))
    whole = sort is Sort.ARCHIVE or CONFIG in names
    discoveries = sum(name.startswith(DISCOVERIES) for name in names) if whole else 1
    traces = sum(name.startswith((WITNESSES, GENERALISATIONS)) for name in names) if whole else 1
    facts = [("Generalisations with their decisions", f"{traces:,}"), ("Files", f"{len(names):,}")]
    if sort is Sort.PUBLISHED:
        facts.insert(0, ("Discoveries", f"{discoveries:,}"))
    return Contents(sort, facts)


def _blocks(content: bytes, file_name: str) -> Contents:
    end = len(content) if len(content) <= SEEN else content.rfind(b"\n", 0, SEEN) + 1
    seen = look(io.BytesIO(content[: end or SEEN]), file_name, Reading(Broken.SKIP))
    return Contents(Sort.BLOCKS, [("Blocks", f"{seen.rows:,}")], seen, whole=end == len(content))


urlpatterns = [path("uploads/<int:pk>/anica/", anica_import, name="anica-import")]
