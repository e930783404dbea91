"""A discovery's page with its tree, its files and its mark, and what a scheme's page lists of discoveries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.views.decorators.http import require_POST

from anica_app.features.discoveries.generalisations import Node, Tree
from anica_app.features.discoveries.mentions import mentions_of
from anica_app.features.discoveries.query import DiscoveryParts, discovery_or_404
from anica_app.features.discoveries.saying import decision, label, reason, table_of, words_of
from anica_app.features.discoveries.steps import blocks_csv, chosen_node, counter_examples_of, step_context
from anica_app.features.discoveries.tree_document import tree_document
from anica_app.models import Discovery, Generalisation, GeneralisationStep
from anica_app.web.judging import store_judgement
from inference.core.protocols import Json
from inference.isa.blocks.listing import intel_or_digits
from inference.models import InstructionScheme
from inference.web.file_answers import attachment, file_answer
from inference.web.validation import whole_number

PART = "X-Part"
"""A request with this header wants only the part about a decision: a click on a node of the tree."""


def tree_or_404(request: HttpRequest, found: DiscoveryParts) -> Tree | None:
    """The generalisation in the address, else the main one; None where no decision of it is known."""
    number = whole_number(request, "g")
    if number is not None and found.generalisation(number) is None:
        raise Http404(f"generalisation {number} has not led to this discovery")
    return found.tree(number)


def decision_of(request: HttpRequest, pk: int) -> tuple[DiscoveryParts, Tree | None, Node | None]:
    """A discovery with the generalisation and the decision in the address, None where there is none."""
    found = discovery_or_404(pk)
    tree = tree_or_404(request, found)
    return found, tree, None if tree is None else chosen_node(request, tree)


def page_or_part(
    request: HttpRequest, page: str, parts: Mapping[str, str], context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The page, or the part of it that the request wants alone: {what it asks for: template}."""
    template = parts.get(request.headers.get(PART, ""), page)
    answer = render(request, template, context, status=status)
    answer["Vary"] = PART
    return answer


def discovery(request: HttpRequest, pk: int) -> HttpResponse:
    """The page, or the part of it about a decision."""
    found, tree, node = decision_of(request, pk)
    if node is None and "step" in request.GET:
        raise Http404(f"the generalisation has no step {request.GET['step'][:20]}")
    row = found.discovery
    context: dict[str, Any] = {"found": found, "discovery": row, "campaign": found.campaign}
    if tree is not None and node is not None:
        context |= {"generalisation": tree.generalisation, **step_context(request, found, tree, node)}
    if request.headers.get(PART) != "step":
        context |= _page_beside(found, tree)
    return page_or_part(
        request, "anica/discoveries/page.html", {"step": "anica/discoveries/step.html"}, context
    )


def _page_beside(found: DiscoveryParts, tree: Tree | None) -> dict[str, Any]:
    """What only the whole page needs."""
    row = found.discovery
    code = bytes(row.code)
    others = found.campaign.discoveries.filter(subsumed_by=row).order_by("number")
    return {
        "title": row.label or f"Discovery {row.number}",
        "words": words_of(row.abstract),
        "table": None if row.abstract is None else table_of(row.abstract),
        "foreign": json.dumps(row.foreign, indent=1) if row.abstract is None else "",
        "witness": intel_or_digits(code) if code else (),
        "tree": None if tree is None else picture(found, tree),
        "includes": list(others.only("pk", "number", "label")),
        "marks": Discovery.Mark.choices,
        "traced": [one for one in found.generalisations if one.steps_count],
    }


def discovery_tree(request: HttpRequest, pk: int) -> HttpResponse:
    """The tree as a JSON file, with `samples=1` every judged block of it."""
    found = discovery_or_404(pk)
    tree = tree_or_404(request, found)
    if tree is None:
        raise Http404("this discovery came without its generalisation")
    document = tree_document(found, tree, samples=request.GET.get("samples") == "1")
    name = f"{found.campaign.name} {found.discovery} tree {tree.generalisation.number}"
    return attachment(json.dumps(document, ensure_ascii=False), "application/json", name, "json")


def discovery_blocks(request: HttpRequest, pk: int) -> HttpResponse:
    """All blocks of a decision as CSV, in the form of a basic-block set: digits, and a column per tool."""
    found, tree, node = decision_of(request, pk)
    if tree is None or node is None:
        raise Http404("there is no such step")
    text = blocks_csv(found, tree.generalisation, node.number)
    return file_answer(text, "text/csv", f"{found.campaign.name} {found.discovery} step {node.number}", "csv")


def picture(found: DiscoveryParts, tree: Tree) -> Json:
    """What `generalisation-tree.js` draws: a node per decision, in order (one query).

    Of each its number, `kind`, whether `taken`, `label` and `words`, `reason`, and how many of `n` blocks are
    `interesting`; `implied` has the words of those that represent the same blocks and have no node of their
    own, `against` the block that speaks against it. `result` marks the one that has become the discovery.
    """
    taken = [node.number for node in tree.nodes if node.taken and node.number in tree.implied]
    against = counter_examples_of(found, tree.generalisation)
    is_result = tree.generalisation.became == Generalisation.Became.DISCOVERY
    nodes: list[dict[str, Any]] = [
        {
            "number": node.number,
            "kind": node.kind,
            "taken": node.taken,
            "label": label(node).replace("`", ""),
            "words": decision(node).replace("`", ""),
            "reason": reason(node),
            "n": node.n,
            "interesting": node.interesting,
            "implied": [decision(one).replace("`", "") for one in tree.implied[node.number]],
            "against": str(against.get(node.number, "")),
            "result": is_result and taken[-1:] == [node.number],
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
    """What the template needs; None where discoveries cannot speak of the scheme."""
    mentions = mentions_of(scheme)
    if mentions is None:
        return None
    return {
        "mentions": mentions,
        "discoveries": [(row, how.value, words_of(row.abstract)) for row, how in mentions.found],
    }


urlpatterns = [
    path("discoveries/<int:pk>/", discovery, name="discovery"),
    path("discoveries/<int:pk>/tree.json", discovery_tree, name="discovery-tree"),
    path("discoveries/<int:pk>/blocks.csv", discovery_blocks, name="discovery-blocks"),
    path("discoveries/<int:pk>/edit/", discovery_edit, name="discovery-edit"),
]
