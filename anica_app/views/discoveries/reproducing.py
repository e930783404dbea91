"""Everything to see a disagreement elsewhere: command lines, a Compiler Explorer session, a bug report."""

from __future__ import annotations

import json
from dataclasses import dataclass

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse

from anica_app.core.answers import Answer
from anica_app.exchange import compiler_explorer
from anica_app.exchange.bug_report import Report, markdown
from anica_app.exchange.commands import Command, commands_for, core_of
from anica_app.models import Predictor
from anica_app.queries.discoveries import Example, Found, known_answers
from anica_app.views.discoveries.page import found_or_404
from anica_app.views.discoveries.saying import words_of
from anica_app.views.discoveries.step import lines_of
from inference.isa.x86.blocks import BlockError, block_of_hex
from inference.views.files import file_answer

MOST_OTHERS = 5


@dataclass(frozen=True)
class Chosen:
    """The block at hand, with what is known of it. `digits` are "" where it is the usual one."""

    code: bytes
    digits: str
    answers: list[tuple[Predictor, Answer]]
    examples: list[Example]


def _chosen(request: HttpRequest, found: Found) -> Chosen:
    """The block in the address, else the smallest witness."""
    examples = found.examples()
    digits = request.GET.get("block", "")
    if digits:
        try:
            code = block_of_hex(digits).code
        except BlockError as error:
            raise BadRequest(f"block: {error}") from error
        example = next((one for one in examples if one.sample.code == code), None)
    else:
        example = found.smallest(examples)
        code = bytes(found.discovery.code) if example is None else example.sample.code
    if not code:
        raise Http404("this discovery came without a block")
    answers = [] if example is None else list(zip(found.predictors, example.sample.answers, strict=True))
    but = found.predictors if answers else []
    return Chosen(code, digits, [*answers, *known_answers(code, but)], examples)


def _report(request: HttpRequest, found: Found, chosen: Chosen, commands: list[Command]) -> str:
    others = [one for one in chosen.examples if one.interesting and one.sample.code != chosen.code]
    interesting = sum(one.interesting is not False for one in chosen.examples)
    return markdown(
        Report(
            found.discovery,
            chosen.code,
            chosen.answers,
            commands,
            words_of(found.discovery.abstract),
            (len(chosen.examples), interesting),
            [(one.sample.code, one.sample.answers) for one in others[:MOST_OTHERS]],
            request.build_absolute_uri(reverse("discovery", args=[found.discovery.pk])),
        )
    )


def discovery_reproduce(request: HttpRequest, pk: int) -> HttpResponse:
    """Commands, session and report on one page, each to be copied."""
    found = found_or_404(pk)
    chosen = _chosen(request, found)
    commands = commands_for(found.predictors, chosen.code)
    session = _session(found, chosen)
    context = {
        "discovery": found.discovery,
        "campaign": found.campaign,
        "chosen": chosen,
        "lines": lines_of(chosen.code),
        "hex": chosen.code.hex(),
        "commands": commands,
        "session": session,
        "link": compiler_explorer.link(session),
        "report": _report(request, found, chosen, commands),
    }
    return render(request, "anica/discovery/reproduce.html", context)


def discovery_report(request: HttpRequest, pk: int) -> HttpResponse:
    """The bug report as a file."""
    found = found_or_404(pk)
    chosen = _chosen(request, found)
    text = _report(request, found, chosen, commands_for(found.predictors, chosen.code))
    return file_answer(text, "text/markdown", f"{found.campaign.name} {found.discovery}", "md")


def discovery_session(request: HttpRequest, pk: int) -> HttpResponse:
    """The Compiler Explorer session as a file."""
    found = found_or_404(pk)
    text = json.dumps(_session(found, _chosen(request, found)), indent=1)
    name = f"{found.campaign.name} {found.discovery} compiler explorer"
    return file_answer(f"{text}\n", "application/json", name, "json")


def _session(found: Found, chosen: Chosen) -> dict[str, object]:
    comment = f"{found.campaign.name}, {found.discovery}"
    said = [
        f"{row.name}: {answer.failure or f'{answer.cycles:.2f} cycles'}" for row, answer in chosen.answers
    ]
    return compiler_explorer.state(chosen.code, core_of(found.predictors), "\n".join([comment, *said]))


urlpatterns = [
    path("discoveries/<int:pk>/reproduce/", discovery_reproduce, name="discovery-reproduce"),
    path("discoveries/<int:pk>/report.md", discovery_report, name="discovery-report"),
    path("discoveries/<int:pk>/compiler-explorer.json", discovery_session, name="discovery-session"),
]
