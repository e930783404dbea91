"""The agent as one file, for whoever is to measure: it carries no secret, so it needs no log-in."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from inference.agent.packing import PackingError, packed
from inference.runs.machines.starting import AGENT_FILE


@require_safe
def agent(_request: HttpRequest) -> HttpResponse:
    """The packed agent; where it cannot be packed, a sentence that says what this installation lacks."""
    try:
        content = packed()
    except PackingError as error:
        return HttpResponse(f"{error}\n", status=503, content_type="text/plain; charset=utf-8")
    return HttpResponse(
        content,
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{AGENT_FILE}"'},
    )


urlpatterns = [path(f"agent/{AGENT_FILE}", agent, name="agent-download")]
