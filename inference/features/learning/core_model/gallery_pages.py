"""The gallery: recorded cores, each with the page of a core model, and copied into the site on demand."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from inference.features.learning.core_model.pages import home_context
from inference.features.learning.core_model.query import document_contents
from inference.features.learning.core_model.storing import store_document
from inference.features.library.gallery.query import RecordedCore, recorded_cores
from inference.models import StoredCoreModel


def gallery(request: HttpRequest) -> HttpResponse:
    """All recorded cores: where their numbers come from, how good they are, and what is missing."""
    cores = recorded_cores()
    opened = _stored_copies(cores)
    rows = [(core, opened.get(core.name)) for core in cores]
    return render(request, "inference/core_model/gallery.html", {"rows": rows})


def recorded(request: HttpRequest, slug: str) -> HttpResponse:
    """The page of a recorded core, without a copy in the database."""
    core = recorded_or_404(slug)
    contents = document_contents(core.row.document or {})
    context = home_context(request, core.row, contents, core)
    return render(
        request,
        "inference/core_model/core_model.html",
        {**context, "opened": _stored_copies([core]).get(core.name)},
    )


def recorded_or_404(slug: str) -> RecordedCore:
    core = next((core for core in recorded_cores() if core.slug == slug), None)
    if core is None:
        raise Http404(f"the gallery has no core {slug!r}")
    return core


def open_recorded(request: HttpRequest, slug: str) -> HttpResponse:
    """Store a recorded core as a core model, unless it is stored already, and show it."""
    core = recorded_or_404(slug)
    row = _stored_copies([core]).get(core.name)
    if row is None:
        note = f"From the gallery: {core.processor}, {core.recorded}; {core.measured}; {core.accuracy}."
        row = store_document(core.document, core.name, note)
    return redirect("core-model", row.pk)


def _stored_copies(cores: Sequence[RecordedCore]) -> dict[str, StoredCoreModel]:
    """{name: core model of the site} of those that are stored."""
    rows = StoredCoreModel.objects.filter(name__in=[core.name for core in cores], document__isnull=False)
    return {row.name: row for row in rows.defer("document")}


urlpatterns = [
    path("gallery/", gallery, name="gallery"),
    path("gallery/<slug:slug>/", recorded, name="recorded-core"),
    path("gallery/<slug:slug>/open/", open_recorded, name="gallery-open"),
]
