"""About: versions, and what this host has or lacks."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from anica_app.features.predictors.query import programs
from anica_app.predictors import command
from pmweb import installation


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """Show the installation as it is now."""
    context = {
        "facts": installation.facts(),
        "access": installation.access(),
        "computing": installation.computing(),
        "containment": installation.containment(),
        "measuring": installation.measuring(),
        "libraries": installation.library_versions(),
        "programs": installation.find_all(),
        "predictors": [one for one in programs() if one[0].name != command.KIND],
    }
    return render(request, "pmweb/about.html", context)
