"""A discovery's page: what it says, the tree that led to it, and the blocks of one decision."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path
from django.utils.text import slugify

from anica_app.models import Discovery
from anica_app.queries.discoveries import Found, discoveries_in_full
from anica_app.queries.generalisations import Tree
from anica_app.queries.saying import table_of, words_of
from anica_app.queries.steps import blocks_csv
from anica_app.queries.tree_documents import tree_document
from anica_app.views.discoveries.step import chosen_node, lines_of, step_context
from anica_app.views.discoveries.tree import picture
from inference.web.requests import file_answer, whole_number

PART = "X-Part"
"""A request with this header wants only the part about a decision: a click on a node of the tree."""


def found_or_404(pk: int) -> Found:
    """The discovery with its campaign (one query)."""
    return Found(get_object_or_404(discoveries_in_full(), pk=pk))


def tree_or_404(request: HttpRequest, found: Found) -> Tree | None:
    """The generalisation in the address, else the main one; None where no decision of it is known."""
    number = whole_number(request, "g")
    if number is not None and found.generalisation(number) is None:
        raise Http404(f"generalisation {number} has not led to this discovery")
    return found.tree(number)


def discovery(request: HttpRequest, pk: int) -> HttpResponse:
    """The page, or the part of it about a decision."""
    found = found_or_404(pk)
    tree = tree_or_404(request, found)
    node = None if tree is None else chosen_node(request, tree)
    if node is None and "step" in request.GET:
        raise Http404(f"the generalisation has no step {request.GET['step'][:20]}")
    row = found.discovery
    context: dict[str, Any] = {"found": found, "discovery": row, "campaign": found.campaign}
    if tree is not None and node is not None:
        context |= {"generalisation": tree.generalisation, **step_context(request, found, tree, node)}
    if request.headers.get(PART) == "step":
        answer = render(request, "anica/discovery/step.html", context)
    else:
        answer = render(request, "anica/discovery/page.html", {**context, **_whole(found, tree)})
    answer["Vary"] = PART
    return answer


def _whole(found: Found, tree: Tree | None) -> dict[str, Any]:
    """What only the whole page needs."""
    row = found.discovery
    code = bytes(row.code)
    others = found.campaign.discoveries.filter(subsumed_by=row).order_by("number")
    return {
        "title": row.label or f"Discovery {row.number}",
        "words": words_of(row.abstract),
        "table": None if row.abstract is None else table_of(row.abstract),
        "foreign": json.dumps(row.foreign, indent=1) if row.abstract is None else "",
        "witness": lines_of(code) if code else (),
        "tree": None if tree is None else picture(tree),
        "includes": list(others.only("pk", "number", "label")),
        "marks": Discovery.Mark.choices,
        "traced": [one for one in found.generalisations if one.steps_count],
    }


def discovery_tree(request: HttpRequest, pk: int) -> HttpResponse:
    """The tree as a JSON file, with `samples=1` every judged block of it."""
    found = found_or_404(pk)
    tree = tree_or_404(request, found)
    if tree is None:
        raise Http404("this discovery came without its generalisation")
    document = tree_document(found, tree, samples=request.GET.get("samples") == "1")
    name = slugify(f"{found.campaign.name} {found.discovery} tree {tree.generalisation.number}")
    headers = {"Content-Disposition": f'attachment; filename="{name}.json"'}
    return JsonResponse(document, headers=headers, json_dumps_params={"ensure_ascii": False})


def discovery_blocks(request: HttpRequest, pk: int) -> HttpResponse:
    """All blocks of a decision as CSV, in the form of a basic-block set: digits, and a column per tool."""
    found = found_or_404(pk)
    tree = tree_or_404(request, found)
    node = None if tree is None else chosen_node(request, tree)
    if tree is None or node is None:
        raise Http404("there is no such step")
    text = blocks_csv(found, tree.generalisation, node.number)
    return file_answer(text, "text/csv", f"{found.campaign.name} {found.discovery} step {node.number}", "csv")


urlpatterns = [
    path("discoveries/<int:pk>/", discovery, name="discovery"),
    path("discoveries/<int:pk>/tree.json", discovery_tree, name="discovery-tree"),
    path("discoveries/<int:pk>/blocks.csv", discovery_blocks, name="discovery-blocks"),
]
