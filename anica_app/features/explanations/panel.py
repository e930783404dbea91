"""The section of a block's page in which a difference, or one prediction, is explained."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from anica_app.features.discoveries.saying import words_of
from anica_app.features.explanations.form import KIND, MOST_SHOWN, ExplainForm
from anica_app.features.explanations.query import explanations_of
from anica_app.models import Campaign
from inference.features.asking.questions.query import ShownBlock
from inference.isa.blocks import block_of_bytes
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.web.contributions import Context


def context_of(request: HttpRequest, subject: ShownBlock) -> Context:
    """The form, and the generalisations of the block so far, whose runs are followed."""
    del request
    return _context(subject, ExplainForm(subject.lines, subject.name))


def press(request: HttpRequest, subject: ShownBlock) -> HttpResponse | Context:
    """Start a generalisation; the context with what is wrong where that is refused."""
    form = ExplainForm(subject.lines, subject.name, request.POST)
    if form.is_valid():
        try:
            run = submit(KIND, form.config(), unused_name(form.title()[:190]), user=request.user)
            return redirect("campaign", Campaign.objects.get(run=run).pk)
        except ConfigError as error:
            form.add_error(None, str(error))
    return _context(subject, form)


def _context(subject: ShownBlock, form: ExplainForm) -> Context:
    explanations = explanations_of(subject.name, MOST_SHOWN)
    return {
        "explain": form,
        "number": subject.number,
        "shown_block": block_of_bytes(subject.name.code, subject.name.isa),
        "explanations": [_explained(one) for one in explanations],
        "followed": [one.run for one in explanations if one.run],
    }


def _explained(campaign: Campaign) -> tuple[Campaign, list[str], list[tuple[Any, Any]]]:
    """A generalisation of the block: its predictors, and its discoveries not covered by another one."""
    names = [tool.name for tool in campaign.tools]
    found = [row for row in campaign.discoveries.all() if row.subsumed_by_id is None]
    return campaign, names, [(row, words_of(row.abstract)) for row in found]
