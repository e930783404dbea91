"""One decision of a generalisation: what it asked for, and a page of the blocks that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from anica_app.core.answers import Answer
from anica_app.queries.discoveries import Example, Found
from anica_app.queries.generalisations import BY_BLOCK, Node, Tree
from anica_app.queries.saying import compared, decision, reason
from anica_app.queries.steps import blocks_of_step, orders_of, page_of_blocks
from inference.isa.x86.blocks import BlockError
from inference.isa.x86.blocks.listing import intel_of_bytes
from inference.web.requests import one_of, whole_number

PAGE_SIZE = 25


@dataclass(frozen=True)
class Row:
    """A block of the table; `lines` are its instructions, `answers` come with who gave them."""

    example: Example
    hex: str
    lines: tuple[str, ...]
    answers: Sequence[tuple[str, Answer]]


def chosen_node(request: HttpRequest, tree: Tree) -> Node | None:
    """The decision in the address, else that which shows examples of the result; None where there is none."""
    number = whole_number(request, "step")
    return tree.telling if number is None else tree.node(number)


def step_context(request: HttpRequest, found: Found, tree: Tree, node: Node) -> dict[str, Any]:
    """What the part of the page about a decision needs (three or four queries)."""
    row = tree.generalisation
    seen = blocks_of_step(row, node.number)
    columns = seen.columns(found)
    places = [str(place) for place in range(1, len(columns) + 1)]
    sort = one_of(request, "sort", orders_of(len(columns)), BY_BLOCK)
    page = page_of_blocks(found, seen, sort, whole_number(request, "page", 0) or 0, PAGE_SIZE)
    before, now = tree.around(node.number)
    return {
        "node": node,
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


def _row(example: Example, columns: Sequence[str]) -> Row:
    code = example.sample.code
    answers = list(zip(columns, example.sample.answers, strict=True))
    return Row(example, code.hex(), lines_of(code), answers)


def lines_of(code: bytes) -> tuple[str, ...]:
    """The instructions in Intel syntax; the digits where the bytes are no instructions."""
    try:
        return intel_of_bytes(code)
    except BlockError:
        return (code.hex(),)
