"""For administrators: what takes room, for how long it is kept, and letting it go."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from pmweb.models import Pruning
from pmweb.retention.policy import FOR_EVER, TRACES, policy, variable
from pmweb.retention.trace import Trace
from pmweb.retention.waiting import ask

_SHOWN = 20


@dataclass(frozen=True)
class Line:
    """A trace with how long it is kept, 0 for ever, and what the newest look found, None where none has."""

    trace: Trace
    keep: int
    variable: str
    rows: int | None
    size: int | None


def storage(request: HttpRequest) -> HttpResponse:
    """Traces, and the newest prunings. Nothing is weighed here: a worker does that."""
    newest = list(Pruning.objects.select_related("asked_by")[:_SHOWN])
    look = next((row for row in newest if row.dry and row.ended), None)
    seen = {line["key"]: line for line in look.report} if look else {}
    kept = policy()
    context = {
        "lines": [_line(trace, kept[trace.key], seen.get(trace.key, {})) for trace in TRACES],
        "look": look,
        "waiting": next((row for row in newest if row.ended is None), None),
        "prunings": [row for row in newest if row.ended and not row.dry],
        "nightly": settings.PRUNE_NIGHTLY,
    }
    return render(request, "pmweb/storage.html", context)


@require_POST
def storage_prune(request: HttpRequest) -> HttpResponse:
    """Let a worker look (`dry`) or remove."""
    dry = request.POST.get("what") != "remove"
    ask(request.user, dry=dry)
    done = "looks what would go" if dry else "removes what is older than is kept"
    messages.success(request, f"A worker {done}; this page says what comes of it.")
    return redirect("storage")


def _line(trace: Trace, keep: int, found: dict[str, int]) -> Line:
    seen = found if keep != FOR_EVER else {}
    return Line(trace, keep, variable(trace.key), seen.get("rows"), seen.get("size"))
