"""What a user does to a run: pause, resume, cancel (each a POST that leads back), name and note, delete."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.models import Run
from inference.runs import lifecycle
from inference.runs.errors import RunsError, RunStateError
from inference.runs.webhooks import replace
from inference.views.naming import delete_page, edit_page

ACTIONS: dict[str, Callable[[Run], Run]] = {
    "pause": lifecycle.pause,
    "resume": lifecycle.resume,
    "cancel": lifecycle.cancel,
}


@require_POST
def run_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Do it, or say why the run is in no state for it."""
    if action not in ACTIONS:
        raise Http404(f"a run can be asked to {', '.join(ACTIONS)}, not {action!r}")
    run = get_object_or_404(Run, pk=pk)
    try:
        ACTIONS[action](run)
    except RunStateError as error:
        messages.error(request, str(error))
    return redirect("run", pk=pk)


@require_POST
def run_webhook(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the posted `url` told when the run ends, or nobody."""
    run = get_object_or_404(Run, pk=pk)
    url = request.POST.get("url", "").strip()
    try:
        with transaction.atomic():
            replace(run, url)
    except RunsError as error:
        messages.error(request, f"{error}.")
    else:
        messages.success(request, "Saved." if url else "No address of yours is told when the run ends.")
    return redirect("run", pk=pk)


def run_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a run."""
    return edit_page(request, get_object_or_404(Run, pk=pk), "run", "runs")


def run_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a run with its journal, after saying what depends on it."""
    return delete_page(request, get_object_or_404(Run, pk=pk), "run", "runs")


urlpatterns = [
    path("runs/<int:pk>/edit/", run_edit, name="run-edit"),
    path("runs/<int:pk>/delete/", run_delete, name="run-delete"),
    path("runs/<int:pk>/webhook/", run_webhook, name="run-webhook"),
    path("runs/<int:pk>/<slug:action>/", run_action, name="run-action"),
]
