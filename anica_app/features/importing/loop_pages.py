"""Forms about the loops of an uploaded program: how to find them, and which become a set."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from anica_app.features.importing.import_pages import BlockImportForm, seen_of
from anica_app.features.importing.loops_job import KIND, LISTED, MOST_KEYS, LoopsConfig
from anica_app.features.importing.recognition import have_samples
from anica_app.formats.incoming import Sort
from inference.core.protocols import Json
from inference.features.library.uploads.query import waiting_uploads
from inference.formats.other_formats import BEGINNING
from inference.formats.program_loops import Weighing
from inference.isa.blocks import isa_beside
from inference.isa.blocks.programs import BinaryFileError, described
from inference.models import BasicBlockSet, Run, Upload
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import free_name
from inference.web.reading_process import SlowFileError
from inference.web.request_fields import number_field
from inference.web.requests import whole_number

ALL, SHARE, TICKED = "all", "share", "ticked"

_WEIGHING = {
    Weighing.SAMPLES: "its samples: the time spent in it",
    Weighing.ITERATIONS: "how often it ran, by branch records",
}


def _with_beginnings() -> QuerySet[Any]:
    """The waiting uploads, newest first, each with the first bytes of its content as `beginning`."""
    return waiting_uploads().annotate(beginning=Substr("content", 1, BEGINNING)).order_by("-id")


def waiting_samples() -> QuerySet[Upload]:
    """The waiting uploads that have samples of perf, newest first; their beginnings tell."""
    rows = list(_with_beginnings())
    try:
        answers = have_samples([bytes(row.beginning) for row in rows]) if rows else []
    except SlowFileError:  # the page of the file itself says so
        answers = []
    ids = [row.pk for row, has_samples in zip(rows, answers, strict=False) if has_samples]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


def waiting_programs() -> QuerySet[Upload]:
    """The waiting uploads that are compiled programs, newest first."""
    ids = [row.pk for row in _with_beginnings() if bytes(row.beginning)[:4] == b"\x7fELF"]
    return waiting_uploads().filter(pk__in=ids).order_by("-id")


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


class ListingForm(BlockImportForm):
    """What becomes of a listing."""

    model = BasicBlockSet

    functions = SearchForm.base_fields["functions"]


class ChooseForm(BlockImportForm):
    """Which of the loops that were found become a set."""

    model = BasicBlockSet

    which = forms.ChoiceField(choices=[(ALL, ""), (SHARE, ""), (TICKED, "")], initial=ALL)
    least = number_field(
        LoopsConfig,
        "least",
        required=False,
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


# The loops of an uploaded program or listing: found by a run, chosen from, and imported by another.


IMPORT = "import-anica"
_HEADER = 64


def anica_loops(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what is known of the loops; a POST starts to look for them, or imports those that are chosen."""
    found = get_object_or_404(_with_beginnings(), pk=pk)
    seen = seen_of(found)
    if seen is None:
        return redirect("upload-preview", pk)
    match seen["sort"]:
        case Sort.PROGRAM:
            return _program(request, found)
        case Sort.LISTING:
            return _listing(request, found)
        case Sort.SAMPLES:
            context = {"upload": found, "programs": waiting_programs()}
            return render(request, "anica/importing/loops/samples.html", context)
    raise Http404("this file has no machine code")


def _program(request: HttpRequest, found: Any) -> HttpResponse:
    try:
        context: dict[str, Any] = {"upload": found, "kind": described(bytes(found.beginning)[:_HEADER])}
    except BinaryFileError as error:
        context = {"upload": found, "problem": str(error)}
        return render(request, "anica/importing/loops/program.html", context)
    run = _run(request, found)
    done = run is not None and run.state == Run.State.DONE
    press = request.POST.get("press") if request.method == "POST" else None
    given = dict(run.config) if run is not None else {}
    search = SearchForm(request.POST if press == "look" else None, initial=given)
    keys = request.POST.getlist("loop")
    choose = ChooseForm(keys, request.POST if press == "import" else None, initial={"name": _name(found)})
    if press == "look" and search.is_valid():
        try:
            name = unused_name(f"Loops of {found.file_name}"[:180])
            made = submit(KIND, search.config(found), name, user=request.user)
            return redirect(f"{reverse('anica-loops', args=[found.pk])}?run={made.pk}")
        except RunsError as error:
            search.add_error(None, str(error))
    if press == "import" and done and run is not None and choose.is_valid():
        try:
            name = unused_name(f"Import {found.file_name}"[:180])
            return redirect("run", submit(IMPORT, choose.config(run.config), name, user=request.user).pk)
        except RunsError as error:
            choose.add_error(None, str(error))
    context |= {
        "search": search,
        "choose": choose,
        "run": run,
        "working": run is not None and run.state not in Run.FINAL,
        "loops": _rows(run.result["loops"], set(keys)) if done and run else [],
        "found": {**run.result, "isa": isa_beside(run.result)} if done and run else None,
        "listed": LISTED,
        "which": request.POST.get("which", "all"),
    }
    refused = (search.is_bound and bool(search.errors)) or (choose.is_bound and bool(choose.errors))
    return render(request, "anica/importing/loops/program.html", context, status=400 if refused else 200)


def _rows(loops: list[Json], ticked: set[str]) -> list[tuple[Json, bool]]:
    """Each loop as the table has it, and whether it is ticked."""
    return [
        ({**one, "place": f"{one['address']:#x}", "bytes": bytes.fromhex(one["code"])}, one["key"] in ticked)
        for one in loops
    ]


def _listing(request: HttpRequest, found: Upload) -> HttpResponse:
    form = ListingForm(request.POST if request.method == "POST" else None, initial={"name": _name(found)})
    if form.is_bound and form.is_valid():
        try:
            name = unused_name(f"Import {found.file_name}"[:180])
            config = {"upload": found.pk, **form.cleaned_data}
            return redirect("run", submit(IMPORT, config, name, user=request.user).pk)
        except RunsError as error:
            form.add_error(None, str(error))
    context = {"upload": found, "form": form, "programs": waiting_programs()}
    refused = form.is_bound and bool(form.errors)
    return render(request, "anica/importing/loops/listing.html", context, status=400 if refused else 200)


def _run(request: HttpRequest, found: Upload) -> Run | None:
    """The search for loops of this file that the address names, else the newest."""
    runs = Run.objects.filter(kind=KIND, config__upload=found.pk).order_by("-pk")
    wanted = whole_number(request, "run")
    return (runs.filter(pk=wanted).first() if wanted is not None else None) or runs.first()


def _name(found: Upload) -> str:
    stem = found.file_name.rpartition(".")[0] or found.file_name
    return free_name(BasicBlockSet, stem[:180])


urlpatterns = [path("uploads/<int:pk>/anica/loops/", anica_loops, name="anica-loops")]
