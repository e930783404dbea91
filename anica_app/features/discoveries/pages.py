"""Everything to see a disagreement elsewhere: command lines, a Compiler Explorer session, a bug report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.text import slugify
from django.views.decorators.http import require_POST

from anica_app.features.discoveries import reproducing
from anica_app.features.discoveries.asking_again import may_ask_again
from anica_app.features.discoveries.counter_examples import counter_example_among, counter_examples_of
from anica_app.features.discoveries.generalisations import BY_BLOCK, Node, Tree
from anica_app.features.discoveries.query import DiscoveryParts, JudgedBlock, discovery_or_404, mentions_of
from anica_app.features.discoveries.reproducing import (
    ReproducedBlock,
    chosen_block,
    commands_of,
    report_of,
    session_of,
)
from anica_app.features.discoveries.saying import compared, decision, label, reason, table_of, words_of
from anica_app.features.discoveries.steps import (
    blocks_csv,
    blocks_of_step,
    orders_of,
    page_of_blocks,
    tree_document,
)
from anica_app.models import Discovery, Generalisation, GeneralisationStep
from inference.core.protocols import Json
from inference.isa.blocks import BlockError
from inference.isa.blocks.listing import intel_or_digits
from inference.models import InstructionScheme
from inference.predictors.protocol import Answer
from inference.storage.names import NOTE_LIMIT
from inference.web.requests import file_answer, one_of, whole_number


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
        "link": reproducing.link(session),
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


# One decision of a generalisation: what it asked for, and a page of the blocks that it rests on.


PAGE_SIZE = 25


@dataclass(frozen=True)
class BlockTableRow:
    """A block of the table; `lines` are its instructions, `answers` come with who gave them."""

    example: JudgedBlock
    hex: str
    lines: tuple[str, ...]
    answers: Sequence[tuple[str, Answer]]


def chosen_node(request: HttpRequest, tree: Tree) -> Node | None:
    """The decision in the address, else that which shows examples of the result; None where there is none."""
    number = whole_number(request, "step")
    found = tree.telling if number is None else tree.node(number)
    return None if found is None else tree.head(found)


def step_context(request: HttpRequest, found: DiscoveryParts, tree: Tree, node: Node) -> dict[str, Any]:
    """What the part of the page about a decision needs (three or four queries)."""
    row = tree.generalisation
    seen = blocks_of_step(row, node.number)
    columns = seen.columns(found)
    places = [str(place) for place in range(1, len(columns) + 1)]
    sort = one_of(request, "sort", orders_of(len(columns)), BY_BLOCK)
    page = page_of_blocks(found, seen, sort, whole_number(request, "page", 0) or 0, PAGE_SIZE)
    before, now = tree.around(node.number)
    against = None
    if not node.taken:
        kind = found.discovery.kind
        against = counter_example_among(seen.samples, found.judge, len(found.predictors), kind)
    return {
        "node": node,
        "implied": [decision(one) for one in tree.implied[node.number]],
        "against": against,
        "changed": seen.changed(found),
        "again": may_ask_again(found),
        "pruned": bool(node.n) and not seen.samples,
        "tried": decision(node),
        "why": reason(node),
        "said": compared(before, now),
        "rests": tree.resting(node.number),
        "columns": list(zip(places, columns, strict=True)),
        "tools": len(found.predictors),
        "sort": sort,
        "page": page,
        "rows": [_row(one, columns) for one in found.examined(page.rows)],
        "asked": seen.asked,
        "judged": found.judge is not None,
    }


def _row(example: JudgedBlock, columns: Sequence[str]) -> BlockTableRow:
    code = example.sample.code
    answers = list(zip(columns, example.sample.answers, strict=True))
    return BlockTableRow(example, code.hex(), intel_or_digits(code), answers)


# A discovery's page: what it says, the tree that led to it, and the blocks of one decision.


PART = "X-Part"
"""A request with this header wants only the part about a decision: a click on a node of the tree."""


def tree_or_404(request: HttpRequest, found: DiscoveryParts) -> Tree | None:
    """The generalisation in the address, else the main one; None where no decision of it is known."""
    number = whole_number(request, "g")
    if number is not None and found.generalisation(number) is None:
        raise Http404(f"generalisation {number} has not led to this discovery")
    return found.tree(number)


def discovery(request: HttpRequest, pk: int) -> HttpResponse:
    """The page, or the part of it about a decision."""
    found = discovery_or_404(pk)
    tree = tree_or_404(request, found)
    node = None if tree is None else chosen_node(request, tree)
    if node is None and "step" in request.GET:
        raise Http404(f"the generalisation has no step {request.GET['step'][:20]}")
    row = found.discovery
    context: dict[str, Any] = {"found": found, "discovery": row, "campaign": found.campaign}
    if tree is not None and node is not None:
        context |= {"generalisation": tree.generalisation, **step_context(request, found, tree, node)}
    if request.headers.get(PART) == "step":
        answer = render(request, "anica/discoveries/step.html", context)
    else:
        answer = render(request, "anica/discoveries/page.html", {**context, **_whole(found, tree)})
    answer["Vary"] = PART
    return answer


def _whole(found: DiscoveryParts, tree: Tree | None) -> dict[str, Any]:
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
    name = slugify(f"{found.campaign.name} {found.discovery} tree {tree.generalisation.number}")
    headers = {"Content-Disposition": f'attachment; filename="{name}.json"'}
    return JsonResponse(document, headers=headers, json_dumps_params={"ensure_ascii": False})


def discovery_blocks(request: HttpRequest, pk: int) -> HttpResponse:
    """All blocks of a decision as CSV, in the form of a basic-block set: digits, and a column per tool."""
    found = discovery_or_404(pk)
    tree = tree_or_404(request, found)
    node = None if tree is None else chosen_node(request, tree)
    if tree is None or node is None:
        raise Http404("there is no such step")
    text = blocks_csv(found, tree.generalisation, node.number)
    return file_answer(text, "text/csv", f"{found.campaign.name} {found.discovery} step {node.number}", "csv")


# The tree of a generalisation as data for its picture.


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


# What a user thinks of a discovery: its mark and a note.


class JudgementForm(forms.Form):
    """How far a discovery has come, and free notes."""

    mark = forms.ChoiceField(choices=Discovery.Mark.choices, required=False)
    note = forms.CharField(max_length=NOTE_LIMIT, required=False)


@require_POST
def discovery_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Store both."""
    row = get_object_or_404(Discovery, pk=pk)
    form = JudgementForm(request.POST)
    if form.is_valid():
        row.mark, row.note = form.cleaned_data["mark"], form.cleaned_data["note"]
        row.save(update_fields=["mark", "note"])
        messages.success(request, "Saved.")
    else:
        (field, problems), *_ = form.errors.items()
        messages.error(request, f"Nothing was saved: {field}: {problems[0]}")
    return redirect("discovery", pk=pk)


# The part of a scheme's page that lists discoveries.


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
    path("discoveries/<int:pk>/reproduce/", discovery_reproduce, name="discovery-reproduce"),
    path("discoveries/<int:pk>/report.md", discovery_report, name="discovery-report"),
    path("discoveries/<int:pk>/compiler-explorer.json", discovery_session, name="discovery-session"),
    path("discoveries/<int:pk>/", discovery, name="discovery"),
    path("discoveries/<int:pk>/tree.json", discovery_tree, name="discovery-tree"),
    path("discoveries/<int:pk>/blocks.csv", discovery_blocks, name="discovery-blocks"),
    path("discoveries/<int:pk>/edit/", discovery_edit, name="discovery-edit"),
]
