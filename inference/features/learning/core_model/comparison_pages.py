"""The page of two core models side by side, differences first."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.features.learning.core_model.comparison import comparable_cores, compare_cores, core_label
from inference.features.learning.core_model.query import core_models


def core_comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """A core model beside the one in the address (`with`, a name); without, the choice."""
    row = get_object_or_404(core_models(), pk=pk)
    choices = comparable_cores(row)
    name = request.GET.get("with", "")
    other = next((choice for choice in choices if choice.name == name), None)
    if name and other is None:
        raise Http404(f"there is no other core model {name[:60]!r} of {row.isa.name}")
    context = {
        "row": row,
        "choices": [(choice.name, f"{core_label(choice)}: {choice.name}") for choice in choices],
        "chosen": name,
        "comparison": None if other is None else compare_cores(row, other),
    }
    return render(request, "inference/core_model/comparison.html", context)


urlpatterns = [path("core-models/<int:pk>/compare/", core_comparison, name="core-model-compare")]
