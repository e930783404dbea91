"""Pages to see a disagreement elsewhere: command lines, a Compiler Explorer session, a bug report."""

from __future__ import annotations

import json

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse

from anica_app.features.discoveries import compiler_explorer
from anica_app.features.discoveries.query import DiscoveryParts, discovery_or_404
from anica_app.features.discoveries.reproducing import (
    ReproducedBlock,
    chosen_block,
    commands_of,
    report_of,
    session_of,
)
from inference.isa.blocks import BlockError, intel_or_digits
from inference.web.file_answers import file_answer


def _chosen(request: HttpRequest, found: DiscoveryParts) -> ReproducedBlock:
    """The block in the address, else the smallest witness."""
    try:
        chosen = chosen_block(found, request.GET.get("block", ""))
    except BlockError as error:
        raise BadRequest(f"block: {error}") from error
    if chosen is None:
        raise Http404("this discovery came without a block")
    return chosen


def _report(request: HttpRequest, found: DiscoveryParts, chosen: ReproducedBlock) -> str:
    address = request.build_absolute_uri(reverse("discovery", args=[found.discovery.pk]))
    return report_of(found, chosen, address)


def discovery_reproduce(request: HttpRequest, pk: int) -> HttpResponse:
    """Commands, session and report on one page, each to be copied."""
    found = discovery_or_404(pk)
    chosen = _chosen(request, found)
    session = session_of(found, chosen)
    context = {
        "discovery": found.discovery,
        "campaign": found.campaign,
        "chosen": chosen,
        "lines": intel_or_digits(chosen.code),
        "hex": chosen.code.hex(),
        "commands": commands_of(found, chosen),
        "session": session,
        "link": compiler_explorer.link(session),
        "report": _report(request, found, chosen),
    }
    return render(request, "anica/discoveries/reproduce.html", context)


def discovery_report(request: HttpRequest, pk: int) -> HttpResponse:
    """The bug report as a file."""
    found = discovery_or_404(pk)
    text = _report(request, found, _chosen(request, found))
    return file_answer(text, "text/markdown", f"{found.campaign.name} {found.discovery}", "md")


def discovery_session(request: HttpRequest, pk: int) -> HttpResponse:
    """The Compiler Explorer session as a file."""
    found = discovery_or_404(pk)
    text = json.dumps(session_of(found, _chosen(request, found)), indent=1)
    name = f"{found.campaign.name} {found.discovery} compiler explorer"
    return file_answer(f"{text}\n", "application/json", name, "json")


urlpatterns = [
    path("discoveries/<int:pk>/reproduce/", discovery_reproduce, name="discovery-reproduce"),
    path("discoveries/<int:pk>/report.md", discovery_report, name="discovery-report"),
    path("discoveries/<int:pk>/compiler-explorer.json", discovery_session, name="discovery-session"),
]
