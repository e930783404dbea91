"""The zip of a run: to be had on its page, and looked at before it is imported elsewhere."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.text import slugify

from inference.exchange.errors import ExchangeError
from inference.exchange.run_archive.reading import Glimpse, glimpse_of
from inference.exchange.run_archive.writing import write_archive
from inference.models import Run
from inference.queries.uploads import waiting_uploads
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.runs.software import versions


def run_archive(request: HttpRequest, pk: int) -> HttpResponse:
    """Everything about a run that has ended, as a file."""
    run = get_object_or_404(Run, pk=pk)
    try:
        content = write_archive(run, versions())
    except ExchangeError as error:
        messages.error(request, f"{error}.")
        return redirect("run", pk=pk)
    name = slugify(f"run {run.pk} {run.name}")
    return HttpResponse(
        content,
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}.zip"'},
    )


def upload_run(request: HttpRequest, pk: int) -> HttpResponse:
    """What an uploaded zip would bring; a POST starts its import, which reads the rest of it."""
    found = get_object_or_404(waiting_uploads().defer(None), pk=pk)
    archive: Glimpse | None = None
    error = ""
    try:
        archive = glimpse_of(bytes(found.content))
    except ExchangeError as problem:
        error = str(problem)
    if request.method == "POST" and archive is not None:
        try:
            name = unused_name(f"Import {found.file_name}"[:190])
            return redirect("run", submit("import", {"upload": found.pk}, name, user=request.user).pk)
        except ConfigError as problem:
            error = str(problem)
    context = {"upload": found, "archive": archive, "error": error}
    status = 400 if request.method == "POST" else 200
    return render(request, "inference/upload_run.html", context, status=status)


urlpatterns = [
    path("runs/<int:pk>/archive/", run_archive, name="run-archive"),
    path("uploads/<int:pk>/run/", upload_run, name="upload-run"),
]
