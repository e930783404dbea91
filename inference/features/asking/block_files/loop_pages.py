"""The loops of an uploaded program or listing: found by a run, chosen from, and imported by another."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.core.protocols import Json
from inference.features.asking.block_files.import_job import KIND as IMPORT
from inference.features.asking.block_files.import_pages import seen_of
from inference.features.asking.block_files.loop_forms import (
    ChooseForm,
    ListingForm,
    SearchForm,
    uploads_with_beginnings,
    waiting_programs,
)
from inference.features.asking.block_files.loops_job import KIND, LISTED
from inference.formats.block_files import BlockFileSort
from inference.isa.blocks import isa_beside
from inference.isa.code.binaries.headers import BinaryFileError, described
from inference.models import BasicBlockSet, Run, Upload
from inference.storage.names import free_name
from inference.web.requests import whole_number
from inference.web.run_forms import start_or_tell

_HEADER = 64


def anica_loops(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what is known of the loops; a POST starts to look for them, or imports those that are chosen."""
    found = get_object_or_404(uploads_with_beginnings(), pk=pk)
    seen = seen_of(found)
    if seen is None:
        return redirect("upload-preview", pk)
    match seen["sort"]:
        case BlockFileSort.PROGRAM:
            return _program(request, found)
        case BlockFileSort.LISTING:
            return _listing(request, found)
        case BlockFileSort.SAMPLES:
            context = {"upload": found, "programs": waiting_programs()}
            return render(request, "inference/block_files/loops/samples.html", context)
    raise Http404("this file has no machine code")


def _program(request: HttpRequest, found: Any) -> HttpResponse:
    try:
        context: dict[str, Any] = {"upload": found, "kind": described(bytes(found.beginning)[:_HEADER])}
    except BinaryFileError as error:
        context = {"upload": found, "problem": str(error)}
        return render(request, "inference/block_files/loops/program.html", context)
    run = _run(request, found)
    done = run is not None and run.state == Run.State.DONE
    press = request.POST.get("press") if request.method == "POST" else None
    given = dict(run.config) if run is not None else {}
    search = SearchForm(request.POST if press == "look" else None, initial=given)
    keys = request.POST.getlist("loop")
    choose = ChooseForm(keys, request.POST if press == "import" else None, initial={"name": _name(found)})
    if press == "look" and search.is_valid():
        name = f"Loops of {found.file_name}"[:180]
        if made := start_or_tell(request, KIND, search.config(found), name, form=search):
            return redirect(f"{reverse('anica-loops', args=[found.pk])}?run={made.pk}")
    if press == "import" and done and run is not None and choose.is_valid():
        name = f"Import {found.file_name}"[:180]
        if made := start_or_tell(request, IMPORT, choose.config(run.config), name, form=choose):
            return redirect("run", made.pk)
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
    refused = search.errors or choose.errors
    return render(
        request, "inference/block_files/loops/program.html", context, status=400 if refused else 200
    )


def _rows(loops: list[Json], ticked: set[str]) -> list[tuple[Json, bool]]:
    """Each loop as the table has it, and whether it is ticked."""
    return [
        ({**one, "place": f"{one['address']:#x}", "bytes": bytes.fromhex(one["code"])}, one["key"] in ticked)
        for one in loops
    ]


def _listing(request: HttpRequest, found: Upload) -> HttpResponse:
    form = ListingForm(request.POST if request.method == "POST" else None, initial={"name": _name(found)})
    if form.is_bound and form.is_valid():
        name = f"Import {found.file_name}"[:180]
        config = {"upload": found.pk, **form.cleaned_data}
        if made := start_or_tell(request, IMPORT, config, name, form=form):
            return redirect("run", made.pk)
    context = {"upload": found, "form": form, "programs": waiting_programs()}
    return render(
        request, "inference/block_files/loops/listing.html", context, status=400 if form.errors else 200
    )


def _run(request: HttpRequest, found: Upload) -> Run | None:
    """The search for loops of this file that the address names, else the newest."""
    runs = Run.objects.filter(kind=KIND, config__upload=found.pk).order_by("-pk")
    wanted = whole_number(request, "run")
    return (runs.filter(pk=wanted).first() if wanted is not None else None) or runs.first()


def _name(found: Upload) -> str:
    stem = found.file_name.rpartition(".")[0] or found.file_name
    return free_name(BasicBlockSet, stem[:180])


urlpatterns = [path("uploads/<int:pk>/anica/loops/", anica_loops, name="anica-loops")]
