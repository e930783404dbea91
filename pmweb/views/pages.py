"""The pages About (versions, and what this host has or lacks), Glossary, and Storage."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from inference.features.asking.predictors.query import programs
from inference.predictors import command
from pmweb import installation
from pmweb.help.texts import glossary_terms
from pmweb.retention.pruning import ask, overview


def about(request: HttpRequest) -> HttpResponse:
    """Show the installation as it is now."""
    context = {
        **installation.sections(),
        "programs": installation.find_all(),
        "predictors": [one for one in programs() if one[0].name != command.KIND],
    }
    return render(request, "pmweb/about.html", context)


def glossary(request: HttpRequest) -> HttpResponse:
    """All terms with their meanings."""
    return render(request, "pmweb/glossary.html", {"terms": glossary_terms()})


def storage(request: HttpRequest) -> HttpResponse:
    """Traces, and the newest prunings. Nothing is weighed here: a worker does that."""
    return render(request, "pmweb/storage.html", vars(overview()))


def storage_prune(request: HttpRequest) -> HttpResponse:
    """Let a worker look (`dry`) or remove."""
    dry = request.POST.get("what") != "remove"
    ask(request.user, dry=dry)
    done = "looks what would go" if dry else "removes what is older than is kept"
    messages.success(request, f"A worker {done}; this page says what comes of it.")
    return redirect("storage")
