"""Pages of uploads with basic blocks: upload or paste, preview, and import of tables and loops."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

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
from inference.features.asking.block_files.job import IMPORT, MAX_LISTED, SEARCH
from inference.features.asking.block_files.query import (
    PREVIEW,
    UploadImporter,
    sort_in_sandbox,
    upload_importer_of_sort,
)
from inference.features.library.uploads.query import receive, start_reading, waiting_uploads
from inference.formats.block_files import BlockFileSort
from inference.formats.problems import ExchangeError
from inference.isa.blocks import isa_of_fields
from inference.isa.code.binaries.headers import BinaryFileError
from inference.isa.code.binaries.program import file_kind
from inference.models import BasicBlockSet, Run, Upload
from inference.models.named import Named
from inference.runs.errors import LimitError, RunsError
from inference.runs.lifecycle import submit
from inference.storage.names import free_name
from inference.web.contributions import PanelPlace, rendered_panels
from inference.web.request_fields import form_page, start_run
from inference.web.validation import number_parameter


def block_set_upload(request: HttpRequest) -> HttpResponse:
    """The form that uploads a file; it posts to the page of all uploads."""
    return render(request, "inference/block_files/upload.html", {"limit": settings.UPLOAD_LIMIT_BYTES})


def block_set_paste(request: HttpRequest) -> HttpResponse:
    """Store a pasted text as an upload, and redirect to its preview."""
    text = request.POST.get("text", "").replace("\r\n", "\n")
    content = text.encode("utf-8", "replace")
    error = "" if text.strip() else "The text is empty: paste the output of a profiler."
    try:
        if not error and sort_in_sandbox(content) is None:
            error = "Expected the output of perf annotate, perf script or objdump, or a table of blocks."
        if not error:
            file = SimpleUploadedFile("pasted.txt", content)
            return redirect("upload-preview", receive([file], request.user)[0].pk)
    except (ExchangeError, LimitError) as problem:
        error = str(problem)
    context = {"limit": settings.UPLOAD_LIMIT_BYTES, "error": error, "text": text[:100_000]}
    return render(request, "inference/block_files/upload.html", context, status=400)


def _reading_of(upload: Upload) -> Json | None:
    """The result of reading the upload; None before it is read, and for files of other formats."""
    preview: Json = upload.preview or {}
    return preview["seen"] if preview.get("page") == PREVIEW else None


def anica_import(request: HttpRequest, pk: int) -> HttpResponse:
    """The preview of a file; a POST starts its import, or reads it with other options."""
    upload = get_object_or_404(waiting_uploads().select_related("reading", "run"), pk=pk)
    reading = _reading_of(upload)
    if reading is None:
        return redirect("upload-preview", pk)
    if reading["sort"] in LOOP_SORTS:
        return redirect("anica-loops", pk)
    importer = upload_importer_of_sort(reading["sort"])
    form = _form(request, upload, reading, importer)
    if form.is_bound and form.is_valid():
        answers = {key: value for key, value in form.cleaned_data.items() if value is not None}
        try:
            if request.POST.get("press") == "look":
                start_reading(upload, request.user, options=answers)
                return redirect("upload-preview", pk)
            return redirect("run", submit(IMPORT, {"upload": pk, **answers}, user=request.user).pk)
        except (ExchangeError, RunsError) as error:
            form.add_error(None, str(error))
    sets = reading["sort"] == BlockFileSort.BLOCKS
    context = {"upload": upload, "reading": reading, "importer": importer, "sets": sets}
    return form_page(request, "inference/block_files/import.html", form, **context)


def _form(request: HttpRequest, upload: Upload, reading: Json, importer: UploadImporter) -> BlockImportForm:
    data = request.POST if request.method == "POST" else None
    name = {"name": _unused_name(upload, importer.model)}
    if reading["sort"] == BlockFileSort.BLOCKS:
        return BlocksForm(reading, {**name, **_earlier_options(upload)}, data)
    form = BlockImportForm(data, initial=name)
    form.model = importer.model
    return form


def _earlier_options(upload: Upload) -> Json:
    """The options of a failed import, else those that the file was read with."""
    if upload.run is not None:
        return {field: value for field, value in upload.run.config.items() if value is not None}
    return upload.reading.config["options"] if upload.reading is not None else {}


def anica_loops(request: HttpRequest, pk: int) -> HttpResponse:
    """The loops of a file; a POST starts a search for them, or imports the chosen ones."""
    upload = get_object_or_404(uploads_with_beginnings(), pk=pk)
    reading = _reading_of(upload)
    if reading is None:
        return redirect("upload-preview", pk)
    match reading["sort"]:
        case BlockFileSort.PROGRAM:
            return _program(request, upload)
        case BlockFileSort.LISTING:
            return _listing(request, upload, reading)
        case BlockFileSort.SAMPLES:
            context = {"upload": upload, "programs": waiting_programs()}
            return render(request, "inference/block_files/loops/samples.html", context)
    raise Http404("this file has no machine code")


def _program(request: HttpRequest, upload: Any) -> HttpResponse:
    try:
        context: dict[str, Any] = {
            "upload": upload,
            "kind": file_kind(bytes(upload.beginning)[:64]),
        }
    except BinaryFileError as error:
        context = {"upload": upload, "problem": str(error)}
        return render(request, "inference/block_files/loops/program.html", context)
    run = _run(request, upload)
    done = run is not None and run.state == Run.State.DONE
    press = request.POST.get("press") if request.method == "POST" else None
    earlier = dict(run.config) if run is not None else {}
    search = SearchForm(request.POST if press == "look" else None, initial=earlier)
    keys = request.POST.getlist("loop")
    choose = ChooseForm(
        keys, request.POST if press == "import" else None, initial={"name": _unused_name(upload)}
    )
    if press == "look" and search.is_valid():
        started = start_run(request, SEARCH, search.config(upload), form=search)
        if started is not None:
            return redirect(f"{reverse('anica-loops', args=[upload.pk])}?run={started.pk}")
    if press == "import" and done and run is not None and choose.is_valid():
        started = start_run(request, IMPORT, choose.config(run.config), form=choose)
        if started is not None:
            return redirect("run", started.pk)
    context |= {
        "search": search,
        "choose": choose,
        "run": run,
        "working": run is not None and run.state not in Run.FINAL,
        "loops": _rows(run.result["loops"], set(keys)) if done and run else [],
        "found": {**run.result, "isa": isa_of_fields(run.result)} if done and run else None,
        "listed": MAX_LISTED,
        "which": request.POST.get("which", "all"),
    }
    context["panels"] = rendered_panels(request, PanelPlace.PROGRAM, upload)
    refused = search.errors or choose.errors
    return render(
        request, "inference/block_files/loops/program.html", context, status=400 if refused else 200
    )


def _rows(loops: list[Json], ticked: set[str]) -> list[tuple[Json, bool]]:
    """(row of the table, whether it is ticked) of each loop."""
    return [
        (
            {**loop, "place": f"{loop['address']:#x}", "bytes": bytes.fromhex(loop["code"])},
            loop["key"] in ticked,
        )
        for loop in loops
    ]


def _listing(request: HttpRequest, upload: Upload, reading: Json) -> HttpResponse:
    form = ListingForm(
        request.POST if request.method == "POST" else None, initial={"name": _unused_name(upload)}
    )
    if form.is_bound and form.is_valid():
        config = {"upload": upload.pk, **form.cleaned_data}
        if started := start_run(request, IMPORT, config, form=form):
            return redirect("run", started.pk)
    isa = isa_of_fields(reading)
    loops = [
        (
            {**loop, "bytes": bytes.fromhex(loop["code"])},
            f"{reverse('loop')}?{urlencode({'isa': isa, 'code': loop['excerpt'] or loop['code']})}",
        )
        for loop in reading.get("loops", ())
    ]
    context = {
        "upload": upload,
        "programs": waiting_programs(),
        "reading": reading,
        "loops": loops,
        "isa": isa,
    }
    return form_page(request, "inference/block_files/loops/listing.html", form, **context)


def _run(request: HttpRequest, upload: Upload) -> Run | None:
    """The search in the address among those of this file, else the newest, None without any."""
    runs = Run.objects.filter(kind=SEARCH, config__upload=upload.pk).order_by("-pk")
    run_id = number_parameter(request, "run")
    return (runs.filter(pk=run_id).first() if run_id is not None else None) or runs.first()


def _unused_name(upload: Upload, model: type[Named] = BasicBlockSet) -> str:
    stem = upload.file_name.rpartition(".")[0] or upload.file_name
    return free_name(model, stem[:180])


urlpatterns = [
    path("block-sets/upload/", block_set_upload, name="block-set-upload"),
    path("block-sets/paste/", block_set_paste, name="block-set-paste"),
    path("uploads/<int:pk>/anica/", anica_import, name="anica-import"),
    path("uploads/<int:pk>/anica/loops/", anica_loops, name="anica-loops"),
]
