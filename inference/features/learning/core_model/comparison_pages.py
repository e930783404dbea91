"""The page of two core models side by side, differences first."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse

from inference.features.learning.core_model.comparison import (
    compare_cores,
    core_choices,
    core_label,
    other_core,
)
from inference.features.learning.core_model.gallery_pages import recorded_or_404
from inference.features.learning.core_model.query import core_models
from inference.models import StoredCoreModel


def core_comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """A core model beside the one in the address (`with`, a name); without, the choice."""
    return _comparison(request, get_object_or_404(core_models(), pk=pk))


def recorded_comparison(request: HttpRequest, slug: str) -> HttpResponse:
    """A core of the gallery beside another core, as `core_comparison`."""
    return _comparison(request, recorded_or_404(slug).row, slug)


def _comparison(request: HttpRequest, row: StoredCoreModel, slug: str = "") -> HttpResponse:
    name = request.GET.get("with", "")
    other = other_core(row, name) if name else None
    if name and other is None:
        raise Http404(f"there is no other core model {name[:60]!r} of {row.isa.name}")
    context = {
        "row": row,
        "home": reverse("recorded-core", args=[slug]) if slug else reverse("core-model", args=[row.pk]),
        "label": core_label(row),
        "choices": core_choices(row),
        "chosen": name,
        "comparison": None if other is None else compare_cores(row, other),
    }
    return render(request, "inference/core_model/comparison.html", context)


urlpatterns = [
    path("core-models/<int:pk>/compare/", core_comparison, name="core-model-compare"),
    path("gallery/<slug:slug>/compare/", recorded_comparison, name="recorded-core-compare"),
]
