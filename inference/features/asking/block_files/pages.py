"""Uploads with basic blocks: chosen or pasted, looked at, and imported, loops of programs by choice."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.core.protocols import Json
from inference.features.asking.block_files.forms import (
    BlockImportForm,
    BlocksForm,
    ChooseForm,
    ListingForm,
    SearchForm,
    uploads_with_beginnings,
    waiting_programs,
)
from inference.features.asking.block_files.importer import LOOP_SORTS
from inference.features.asking.block_files.job import IMPORT, LISTED, SEARCH
from inference.features.asking.block_files.query import (
    PREVIEW,
    UploadImporter,
    sort_apart,
    upload_importer_of_sort,
)
from inference.features.library.uploads.query import receive, start_reading, waiting_uploads
from inference.formats.block_files import BlockFileSort
from inference.formats.errors import ExchangeError
from inference.isa.blocks import isa_beside
from inference.isa.code.binaries.headers import BinaryFileError, described
from inference.models import BasicBlockSet, Run, Upload
from inference.models.named import Named
from inference.runs.errors import LimitError, RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import free_name
from inference.web.request_fields import form_page, start_run
from inference.web.validation import whole_number


def block_set_upload(request: HttpRequest) -> HttpResponse:
    """What can be read, and the field for the file; it goes the way of all uploads."""
    return render(request, "inference/block_files/upload.html", {"limit": settings.UPLOAD_LIMIT_BYTES})


def block_set_paste(request: HttpRequest) -> HttpResponse:
    """Keep a pasted text as if it were an uploaded file; its preview comes next."""
    text = request.POST.get("text", "").replace("\r\n", "\n")
    content = text.encode("utf-8", "replace")
    error = "" if text.strip() else "There is nothing to read: paste a text first."
    try:
        if not error and sort_apart(content) is None:
            error = "This is no text of perf annotate, perf script or objdump, and no table of blocks."
        if not error:
            file = SimpleUploadedFile("pasted.txt", content)
            return redirect("upload-preview", receive([file], request.user)[0].pk)
    except (ExchangeError, LimitError) as problem:
        error = str(problem)
    context = {"limit": settings.UPLOAD_LIMIT_BYTES, "error": error, "text": text[:100_000]}
    return render(request, "inference/block_files/upload.html", context, status=400)


def _seen_of(found: Upload) -> Json | None:
    """What the reading of such a file has found; None before it is read, and for files of other formats."""
    preview: Json = found.preview or {}
    return preview["seen"] if preview.get("page") == PREVIEW else None


def anica_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a file would bring; a POST starts its import, or reads its beginning in another way."""
    found = get_object_or_404(waiting_uploads().select_related("reading", "run"), pk=pk)
    seen = _seen_of(found)
    if seen is None:
        return redirect("upload-preview", pk)
    if seen["sort"] in LOOP_SORTS:
        return redirect("anica-loops", pk)
    importer = upload_importer_of_sort(seen["sort"])
    form = _form(request, found, seen, importer)
    if form.is_bound and form.is_valid():
        answers = {key: value for key, value in form.cleaned_data.items() if value is not None}
        try:
            if request.POST.get("press") == "look":
                start_reading(found, request.user, options=answers)
                return redirect("upload-preview", pk)
            name = unused_name(f"Import {found.file_name}")
            return redirect("run", submit(IMPORT, {"upload": pk, **answers}, name, user=request.user).pk)
        except (ExchangeError, RunsError) as error:
            form.add_error(None, str(error))
    sets = seen["sort"] == BlockFileSort.BLOCKS
    about = {"upload": found, "seen": seen, "importer": importer, "sets": sets}
    return form_page(request, "inference/block_files/import.html", form, **about)


def _form(request: HttpRequest, found: Upload, seen: Json, importer: UploadImporter) -> BlockImportForm:
    data = request.POST if request.method == "POST" else None
    name = {"name": _name(found, importer.model)}
    if seen["sort"] == BlockFileSort.BLOCKS:
        return BlocksForm(seen, {**name, **_chosen_before(found)}, data)
    form = BlockImportForm(data, initial=name)
    form.model = importer.model
    return form


def _chosen_before(found: Upload) -> Json:
    """What an import that has failed was told, else what the file was read with."""
    if found.run is not None:
        return {field: value for field, value in found.run.config.items() if value is not None}
    return found.reading.config["options"] if found.reading is not None else {}


def anica_loops(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what is known of the loops; a POST starts to look for them, or imports those that are chosen."""
    found = get_object_or_404(uploads_with_beginnings(), pk=pk)
    seen = _seen_of(found)
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
        context: dict[str, Any] = {
            "upload": found,
            "kind": described(bytes(found.beginning)[:64]),
        }  # the header of an ELF file
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
        if made := start_run(request, SEARCH, search.config(found), name, form=search):
            return redirect(f"{reverse('anica-loops', args=[found.pk])}?run={made.pk}")
    if press == "import" and done and run is not None and choose.is_valid():
        name = f"Import {found.file_name}"[:180]
        if made := start_run(request, IMPORT, choose.config(run.config), name, form=choose):
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
        if made := start_run(request, IMPORT, config, name, form=form):
            return redirect("run", made.pk)
    about = {"upload": found, "programs": waiting_programs()}
    return form_page(request, "inference/block_files/loops/listing.html", form, **about)


def _run(request: HttpRequest, found: Upload) -> Run | None:
    """The search for loops of this file that the address names, else the newest."""
    runs = Run.objects.filter(kind=SEARCH, config__upload=found.pk).order_by("-pk")
    wanted = whole_number(request, "run")
    return (runs.filter(pk=wanted).first() if wanted is not None else None) or runs.first()


def _name(found: Upload, model: type[Named] = BasicBlockSet) -> str:
    stem = found.file_name.rpartition(".")[0] or found.file_name
    return free_name(model, stem[:180])


urlpatterns = [
    path("block-sets/upload/", block_set_upload, name="block-set-upload"),
    path("block-sets/paste/", block_set_paste, name="block-set-paste"),
    path("uploads/<int:pk>/anica/", anica_import, name="anica-import"),
    path("uploads/<int:pk>/anica/loops/", anica_loops, name="anica-loops"),
]
