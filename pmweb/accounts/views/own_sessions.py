"""Everybody's own sessions: since when, from where, and their ends."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from pmweb.accounts import sessions
from pmweb.accounts.ending import end_other_sessions, end_session
from pmweb.accounts.views.own import user_of


@never_cache
def sessions_page(request: HttpRequest) -> HttpResponse:
    """Where one is logged in."""
    context = {"sessions": sessions.of(user_of(request)), "this": sessions.key_of(request)}
    return render(request, "pmweb/sessions.html", context)


def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    """Log one of one's browsers out; this one, too. To everybody else it does not exist."""
    user = user_of(request)
    row = get_object_or_404(sessions.of(user), pk=pk)
    if row.session == sessions.key_of(request):
        messages.error(request, "This is the session that you are using: log out instead.")
    else:
        end_session(row, by=user)
        messages.success(request, "That browser is logged out.")
    return redirect("sessions")


def session_end_others(request: HttpRequest) -> HttpResponse:
    """Stay logged in here alone."""
    number = end_other_sessions(request, user_of(request))
    ended = "1 session has" if number == 1 else f"{number} sessions have"
    messages.success(request, f"{ended} been ended. You are logged in here alone.")
    return redirect("sessions")
