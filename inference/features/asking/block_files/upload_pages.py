"""Where a file with basic blocks is chosen, or a text is pasted."""

from __future__ import annotations

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from inference.features.asking.block_files.recognition import sort_apart
from inference.features.library.uploads.file_reading import receive
from inference.formats.problems import ExchangeError
from inference.runs.errors import LimitError


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


urlpatterns = [
    path("block-sets/upload/", block_set_upload, name="block-set-upload"),
    path("block-sets/paste/", block_set_paste, name="block-set-paste"),
]
