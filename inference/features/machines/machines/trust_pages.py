"""The noise page of a machine: whether its numbers can be trusted, and when."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path
from django.utils import timezone

from inference.features.machines.machines.query import machines, readings_of, shares_of, shown
from inference.features.machines.machines.trust import drift_rounds, findings, known_answers, shares_by_set
from inference.figures.noise import HEIGHT, WIDTH, disturbed_by_hour, disturbed_spans, trust_picture
from inference.web.requests import one_of

WINDOWS = {"1": "hour", "24": "day", "168": "week"}
_SPANS = 12
_ROUNDS_SHOWN = 40

_ANSWERS = {
    "good": "Yes: nothing speaks against its numbers.",
    "mind": "Yes, with care: settled results hold, but see the marks below.",
    "change": "Not now: see the marks below before you rely on its numbers.",
}


def machine_trust(request: HttpRequest, pk: int) -> HttpResponse:
    """Noise, clock and rate over time, disturbed periods, known answers, drift checks, and shares by set."""
    found = get_object_or_404(machines(), pk=pk)
    hours = one_of(request, "hours", tuple(WINDOWS), "24")
    since = timezone.now() - timedelta(hours=int(hours))
    readings = readings_of(found, since)
    rounds, shares = drift_rounds(found, since), shares_by_set(found)
    told = findings(readings, rounds, shares)
    context = {
        "machine": found,
        "row": shown(found),
        "hours": hours,
        "windows": WINDOWS.items(),
        "picture": trust_picture(readings),
        "width": WIDTH,
        "height": HEIGHT,
        "state_shares": shares_of(readings),
        "findings": told,
        "answer": _ANSWERS[told[0].verdict] if told else "Unknown: no agent has connected yet.",
        "spans": disturbed_spans(readings, _SPANS),
        "by_hour": disturbed_by_hour(readings) if hours == "168" and readings else None,
        "known": known_answers(found),
        "rounds": rounds[:_ROUNDS_SHOWN],
        "shares": shares,
    }
    return render(request, "inference/machines/trust.html", context)


urlpatterns = [
    path("machines/<int:pk>/trust/", machine_trust, name="machine-trust"),
]
