"""The action that loads the recorded example."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.features.library.example.loading import load_example


@require_POST
def example(request: HttpRequest) -> HttpResponse:
    """Loads the missing rows of the example, and redirects to its mapping or the tour."""
    rows = load_example()
    messages.success(
        request,
        f"The example is loaded: three sets of measurements of a Zen 4 core, and “{rows.mapping.name}”.",
    )
    if request.POST.get("then") == "tour":
        return redirect("tour")
    return redirect("mapping", rows.mapping.pk)


urlpatterns = [path("example/", example, name="example")]
