"""The tokens of a machine's agent: a new one, and taking one back."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from inference.models import AgentToken, Machine
from inference.runs.machines.tokens import revoke
from inference.views.machines.adding import line_to_paste

LIFETIMES = ("", "30", "90", "365")
"""Days that a token may be valid for; empty: until it is revoked."""


@never_cache
@require_POST
def machine_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Issue another token and show the line to paste. Tokens issued before stay valid."""
    machine = get_object_or_404(Machine, pk=pk)
    if machine.kind != Machine.Kind.AGENT:
        raise Http404(f"{machine.name} is no computer with an agent, so it needs no token")
    days = request.POST.get("days", "")
    if days not in LIFETIMES:
        raise BadRequest(f"A token is valid for {', '.join(filter(None, LIFETIMES))} days or without end.")
    return line_to_paste(request, machine, lifetime=timedelta(days=int(days)) if days else None)


@require_POST
def machine_token_revoke(request: HttpRequest, pk: int, token_pk: int) -> HttpResponse:
    """Take a token back: an agent that comes with it is refused from now on."""
    token = get_object_or_404(AgentToken.objects.select_related("machine"), pk=token_pk, machine_id=pk)
    if token.revoked is None:
        revoke(token)
    messages.success(request, "The token has been revoked: no agent gets in with it any more.")
    return redirect("machine", pk=pk)


urlpatterns = [
    path("machines/<int:pk>/token/", machine_token, name="machine-token"),
    path(
        "machines/<int:pk>/tokens/<int:token_pk>/revoke/", machine_token_revoke, name="machine-token-revoke"
    ),
]
