"""For administrators: what takes room, for how long it is kept, and letting it go."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from pmweb.retention.overview import overview
from pmweb.retention.waiting import ask


def storage(request: HttpRequest) -> HttpResponse:
    """Traces, and the newest prunings. Nothing is weighed here: a worker does that."""
    return render(request, "pmweb/storage.html", vars(overview()))


@require_POST
def storage_prune(request: HttpRequest) -> HttpResponse:
    """Let a worker look (`dry`) or remove."""
    dry = request.POST.get("what") != "remove"
    ask(request.user, dry=dry)
    done = "looks what would go" if dry else "removes what is older than is kept"
    messages.success(request, f"A worker {done}; this page says what comes of it.")
    return redirect("storage")
