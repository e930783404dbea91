"""One decision of a generalisation: what it asked for, and a page of the blocks that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from anica_app.features.discoveries.asking_again import may_ask_again
from anica_app.features.discoveries.counter_examples import counter_example_among
from anica_app.features.discoveries.generalisations import BY_BLOCK, Node, Tree
from anica_app.features.discoveries.query import DiscoveryParts, JudgedBlock
from anica_app.features.discoveries.saying import compared, decision, reason
from anica_app.features.discoveries.steps import (
    blocks_of_step,
    orders_of,
    page_of_blocks,
)
from inference.isa.blocks.listing import intel_or_digits
from inference.predictors.protocol import Answer
from inference.web.requests import one_of, whole_number

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
