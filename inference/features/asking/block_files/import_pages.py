"""An upload that brings blocks, or what others register: what is in it, and how it shall be read."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.asking.block_files.import_forms import BlockImportForm, BlocksForm
from inference.features.asking.block_files.import_job import KIND
from inference.features.asking.block_files.importing_loops import SORTS as LOOP_SORTS
from inference.features.asking.block_files.upload_importers import (
    PREVIEW,
    UploadImporter,
    upload_importer_of_sort,
)
from inference.features.library.uploads.file_reading import start_reading
from inference.features.library.uploads.query import waiting_uploads
from inference.formats.block_files import BlockFileSort
from inference.formats.problems import ExchangeError
from inference.models import Upload
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import free_name


def seen_of(found: Upload) -> Json | None:
    """What the reading of such a file has found; None before it is read, and for files of other formats."""
    preview: Json = found.preview or {}
    return preview["seen"] if preview.get("page") == PREVIEW else None


def anica_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a file would bring; a POST starts its import, or reads its beginning in another way."""
    found = get_object_or_404(waiting_uploads().select_related("reading", "run"), pk=pk)
    seen = seen_of(found)
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
            return redirect("run", submit(KIND, {"upload": pk, **answers}, name, user=request.user).pk)
        except (ExchangeError, RunsError) as error:
            form.add_error(None, str(error))
    sets = seen["sort"] == BlockFileSort.BLOCKS
    context = {"upload": found, "seen": seen, "form": form, "importer": importer, "sets": sets}
    return render(request, "inference/block_files/import.html", context, status=400 if form.errors else 200)


def _form(request: HttpRequest, found: Upload, seen: Json, importer: UploadImporter) -> BlockImportForm:
    stem = found.file_name.rpartition(".")[0] or found.file_name
    data = request.POST if request.method == "POST" else None
    name = {"name": free_name(importer.model, stem)}
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


urlpatterns = [path("uploads/<int:pk>/anica/", anica_import, name="anica-import")]
