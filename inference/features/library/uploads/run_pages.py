"""The uploaded archive of a run, looked at before it is imported."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.features.library.uploads.query import waiting_uploads
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name


def upload_run(request: HttpRequest, pk: int) -> HttpResponse:
    """What an uploaded zip would bring; a POST starts its import, which reads the rest of it."""
    found = get_object_or_404(waiting_uploads(), pk=pk)
    if found.preview is None or found.preview.get("page") != "upload-run":
        return redirect("upload-preview", pk)
    error = ""
    if request.method == "POST":
        try:
            name = unused_name(f"Import {found.file_name}"[:190])
            return redirect("run", submit("import", {"upload": found.pk}, name, user=request.user).pk)
        except ConfigError as problem:
            error = str(problem)
    context = {"upload": found, "archive": found.preview["seen"], "error": error}
    status = 400 if request.method == "POST" else 200
    return render(request, "inference/uploads/run.html", context, status=status)


urlpatterns = [path("uploads/<int:pk>/run/", upload_run, name="upload-run")]
