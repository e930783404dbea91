"""Going on after a clash: the same inference as a new run, without the schemes that contradict."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from inference.models import Run
from inference.queries.going_on import SCHEME, config_without, drop_choices, name_without, search_of
from inference.views.starting import NOTHING_STARTED, start_or_tell


@require_POST
def run_without(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the new run and show it."""
    run = get_object_or_404(Run, pk=pk, kind="infer")
    search = search_of(run)
    what, scheme = request.POST.get("what", SCHEME), request.POST.get("scheme", "")
    if run.state != Run.State.FAILED or scheme not in {choice.scheme for choice in drop_choices(search)}:
        messages.error(request, "Nothing was started: that scheme is not among those that clash.")
        return redirect("run", pk=pk)
    config = config_without(run, search, what, scheme)
    name = name_without(run, what, scheme)
    made = start_or_tell(request, "infer", config, name, forked_from=run, lead=NOTHING_STARTED)
    return redirect("run", pk=pk if made is None else made.pk)


urlpatterns = [path("runs/<int:pk>/without/", run_without, name="run-without")]
