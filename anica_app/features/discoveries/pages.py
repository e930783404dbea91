"""Pages of a discovery: tree, files, mark, predictions of its blocks, bug report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.core.block_domain import represented_schemes
from anica_app.core.errors import AnicaError
from anica_app.features.discoveries import wording
from anica_app.features.discoveries.bug_report import BugReport, markdown, report_of
from anica_app.features.discoveries.query import DiscoveryParts, Node, Tree, discovery_or_404
from anica_app.features.discoveries.report_parts import issue_searches
from anica_app.features.discoveries.steps import (
    blocks_csv,
    chosen_node,
    counter_examples_of,
    name_of_question,
    question_about_step,
    questions_about_steps,
    step_context,
    tools_here,
    tree_answer,
)
from anica_app.features.discoveries.tool_commands import link
from anica_app.models import Discovery, Generalisation, GeneralisationStep
from anica_app.web.judgement import store_judgement
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import common_mode, mode_field
from inference.features.asking.questions.form import ChoosingForm
from inference.features.asking.questions.query import KIND
from inference.isa.blocks import intel_or_digits
from inference.isa.code.block import BlockError
from inference.measuring.blocks import LOOP
from inference.models import InstructionScheme
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.web.contributions import PagePanel, PanelPlace
from inference.web.file_answers import file_answer
from inference.web.request_fields import start_run
from inference.web.validation import number_parameter

PART = "X-Part"
"""A request with this header gets only the part of the page about a decision, for clicks in the tree."""
MAX_SCHEMES = 200


def tree_or_404(request: HttpRequest, parts: DiscoveryParts) -> Tree | None:
    """The generalisation in the address, else the main one; None where its decisions are not stored."""
    number = number_parameter(request, "g")
    if number is not None and parts.generalisation(number) is None:
        raise Http404(f"generalisation {number} has not led to this discovery")
    return parts.tree(number)


def decision_of(request: HttpRequest, pk: int) -> tuple[DiscoveryParts, Tree | None, Node | None]:
    """A discovery with the generalisation and the decision in the address; None for what does not exist."""
    parts = discovery_or_404(pk)
    tree = tree_or_404(request, parts)
    return parts, tree, None if tree is None else chosen_node(request, tree)


def page_or_part(
    request: HttpRequest, page: str, parts: Mapping[str, str], context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The page, or the part that the request's header names: {name: template}."""
    template = parts.get(request.headers.get(PART, ""), page)
    answer = render(request, template, context, status=status)
    answer["Vary"] = PART
    return answer


def discovery(request: HttpRequest, pk: int) -> HttpResponse:
    """The page, or its part about a decision."""
    parts, tree, node = decision_of(request, pk)
    if node is None and "step" in request.GET:
        raise Http404(f"the generalisation has no step {request.GET['step'][:20]}")
    row = parts.discovery
    context: dict[str, Any] = {"parts": parts, "discovery": row, "campaign": parts.campaign}
    if tree is not None and node is not None:
        context |= {"generalisation": tree.generalisation, **step_context(request, parts, tree, node)}
    if request.headers.get(PART) != "step":
        context |= _page_beside(parts, tree)
    return page_or_part(
        request, "anica/discoveries/page.html", {"step": "anica/discoveries/step.html"}, context
    )


def _page_beside(parts: DiscoveryParts, tree: Tree | None) -> dict[str, Any]:
    """The context that only the full page needs."""
    row = parts.discovery
    code = bytes(row.code)
    included = parts.campaign.discoveries.filter(subsumed_by=row).order_by("number")
    return {
        "title": wording.discovery_title(row),
        "words": wording.wording_of(row.abstract),
        "table": None if row.abstract is None else wording.table_of(row.abstract),
        "foreign": json.dumps(row.foreign, indent=1) if row.abstract is None else "",
        "witness": intel_or_digits(code, parts.isa) if code else (),
        "report": report_of(parts),
        "family": row.families.only("name").first(),
        "tree": None if tree is None else picture(parts, tree),
        "includes": list(included.only("pk", "number", "label")),
        "marks": Discovery.Mark.choices,
        "traced": [generalisation for generalisation in parts.generalisations if generalisation.steps_count],
    }


def discovery_tree(request: HttpRequest, pk: int) -> HttpResponse:
    """The tree as a JSON file; with `samples=1` it includes every judged block."""
    parts = discovery_or_404(pk)
    tree = tree_or_404(request, parts)
    if tree is None:
        raise Http404("this discovery came without its generalisation")
    return tree_answer(parts, tree, samples=request.GET.get("samples") == "1")


def discovery_blocks(request: HttpRequest, pk: int) -> HttpResponse:
    """The blocks of a decision as CSV, in the form of a basic-block set: code, and a column per tool."""
    parts, tree, node = decision_of(request, pk)
    if tree is None or node is None:
        raise Http404("there is no such step")
    text = blocks_csv(parts, tree.generalisation, node.number)
    return file_answer(text, "text/csv", f"{parts.campaign.name} {parts.discovery} step {node.number}", "csv")


def picture(parts: DiscoveryParts, tree: Tree) -> Json:
    """The data of `generalisation-tree.js`: a node per decision, in order (one query).

    Each has its number, `kind`, whether `taken`, `label` and `words`, `reason`, and how many of `n` blocks
    are `interesting`; `implied`: decisions that represent the same blocks and have no node of their own;
    `against`: a counter-example. `result` marks the decision that became the discovery.
    """
    accepted = [node.number for node in tree.nodes if node.taken and node.number in tree.implied]
    counter_examples = counter_examples_of(parts, tree.generalisation)
    is_result = tree.generalisation.became == Generalisation.Became.DISCOVERY
    nodes: list[dict[str, Any]] = [
        {
            "number": node.number,
            "kind": node.kind,
            "taken": node.taken,
            "label": wording.decision_label(node).replace("`", ""),
            "words": wording.decision_text(node).replace("`", ""),
            "reason": wording.reason_text(node),
            "n": node.n,
            "interesting": node.interesting,
            "implied": [
                wording.decision_text(implied).replace("`", "") for implied in tree.implied[node.number]
            ],
            "against": str(counter_examples.get(node.number, "")),
            "result": is_result and accepted[-1:] == [node.number],
        }
        for node in tree.nodes
        if node.kind != GeneralisationStep.Kind.END and node.number in tree.implied
    ]
    return {"nodes": nodes}


@require_POST
def discovery_edit(request: HttpRequest, pk: int) -> HttpResponse:
    store_judgement(request, get_object_or_404(Discovery, pk=pk))
    return redirect("discovery", pk=pk)


def discoveries_panel(scheme: InstructionScheme) -> dict[str, Any] | None:
    """The context of the panel; None where blocks of the instruction set cannot be abstracted."""
    mentions = wording.mentions_of(scheme)
    if mentions is None:
        return None
    return {
        "mentions": mentions,
        "discoveries": [(row, how.value, wording.wording_of(row.abstract)) for row, how in mentions.listed],
    }


class AskForm(ChoosingForm):
    """The predictors to ask, at least one."""

    mode = mode_field("as each is named")

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if not self.rows and not self.errors:
            raise ValidationError("Choose at least one predictor.")
        return data


def discovery_ask(request: HttpRequest, pk: int) -> HttpResponse:
    """The form with predictors, as a page or as part of the discovery's; a POST starts the run."""
    parts, tree, node = _decision(request, pk)
    usual = common_mode(parts.predictors) or LOOP
    form = AskForm(request.POST if request.method == "POST" else None, initial={"mode": usual})
    back = _address(pk, tree, node)
    if form.is_bound and form.is_valid():
        anew, row = form.cleaned_data["anew"], tree.generalisation
        config = question_about_step(row, node.number, form.rows, anew=anew)
        config |= {"mode": form.cleaned_data["mode"]}
        name = name_of_question(parts.discovery, node.number)
        try:
            submit(KIND, config, unused_name(name), user=request.user)
        except ConfigError as error:
            form.add_error(None, str(error))
        else:
            return redirect(f"{back}#step")
    context = {
        "form": form,
        "discovery": parts.discovery,
        "campaign": parts.campaign,
        "node": node,
        "back": back,
    }
    templates = {"form": "anica/discoveries/ask_form.html"}
    status = 400 if form.is_bound else 200
    return page_or_part(request, "anica/discoveries/ask.html", templates, context, status)


def _decision(request: HttpRequest, pk: int) -> tuple[DiscoveryParts, Tree, Node]:
    """A discovery and the decision in the address; 404 for a decision without blocks."""
    parts, tree, node = decision_of(request, pk)
    if tree is None or node is None or not node.n:
        raise Http404("there are no blocks to predict")
    return parts, tree, node


def _address(pk: int, tree: Tree, node: Node) -> str:
    return f"{reverse('discovery', args=[pk])}?g={tree.generalisation.number}&step={node.number}"


@require_POST
def discovery_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Run the campaign's tools on the blocks of a decision again, ignoring cached answers."""
    parts, tree, node = _decision(request, pk)
    rows = tools_here(parts)
    if rows:
        config = question_about_step(tree.generalisation, node.number, rows, anew=True)
        start_run(request, KIND, config, name_of_question(parts.discovery, node.number))
    else:
        messages.error(request, "None of the campaign’s predictors can be asked here.")
    return redirect(f"{_address(pk, tree, node)}#step")


def discovery_schemes(request: HttpRequest, pk: int) -> HttpResponse:
    """The schemes that each instruction represents, as a page or as part of the discovery's."""
    parts = discovery_or_404(pk)
    try:
        represented = represented_schemes(parts.discovery.abstract, MAX_SCHEMES, parts.isa)
    except AnicaError as error:
        raise Http404(str(error)) from error
    context = {"discovery": parts.discovery, "campaign": parts.campaign, "represented": represented}
    templates = {"form": "anica/discoveries/schemes_of.html"}
    return page_or_part(request, "anica/discoveries/schemes.html", templates, context)


def _report(request: HttpRequest, pk: int) -> tuple[DiscoveryParts, BugReport]:
    """A discovery, and the report of the block in the address, else of its default witness."""
    parts = discovery_or_404(pk)
    try:
        report = report_of(parts, request.GET.get("block", ""), request)
    except BlockError as error:
        raise BadRequest(f"block: {error}") from error
    if report is None:
        raise Http404("this discovery came without a block")
    return parts, report


def discovery_reproduce(request: HttpRequest, pk: int) -> HttpResponse:
    """Commands, session and report on one page, to be copied."""
    parts, report = _report(request, pk)
    context = {
        "discovery": parts.discovery,
        "campaign": parts.campaign,
        "chosen": report,
        "lines": intel_or_digits(report.code, report.isa),
        "hex": report.code.hex(),
        "link": link(report.session),
        "report": markdown(report),
        "searches": issue_searches(report.code, parts.predictors, report.isa),
    }
    return render(request, "anica/discoveries/reproduce.html", context)


def discovery_report(request: HttpRequest, pk: int) -> HttpResponse:
    parts, report = _report(request, pk)
    return file_answer(markdown(report), "text/markdown", f"{parts.campaign.name} {parts.discovery}", "md")


def discovery_session(request: HttpRequest, pk: int) -> HttpResponse:
    parts, report = _report(request, pk)
    text = json.dumps(report.session, indent=1)
    name = f"{parts.campaign.name} {parts.discovery} compiler explorer"
    return file_answer(f"{text}\n", "application/json", name, "json")


urlpatterns = [
    path("discoveries/<int:pk>/", discovery, name="discovery"),
    path("discoveries/<int:pk>/tree.json", discovery_tree, name="discovery-tree"),
    path("discoveries/<int:pk>/blocks.csv", discovery_blocks, name="discovery-blocks"),
    path("discoveries/<int:pk>/edit/", discovery_edit, name="discovery-edit"),
    path("discoveries/<int:pk>/ask/", discovery_ask, name="discovery-ask"),
    path("discoveries/<int:pk>/again/", discovery_again, name="discovery-again"),
    path("discoveries/<int:pk>/schemes/", discovery_schemes, name="discovery-schemes"),
    path("discoveries/<int:pk>/reproduce/", discovery_reproduce, name="discovery-reproduce"),
    path("discoveries/<int:pk>/report.md", discovery_report, name="discovery-report"),
    path("discoveries/<int:pk>/compiler-explorer.json", discovery_session, name="discovery-session"),
]

ORIGINS = (questions_about_steps,)
PANELS = (
    PagePanel(
        PanelPlace.SCHEME,
        "discoveries",
        "Discoveries",
        "anica/discoveries/mentions.html",
        lambda _request, scheme: discoveries_panel(scheme),
        order=50,
    ),
)
