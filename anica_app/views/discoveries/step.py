"""One decision of a generalisation: what it asked for, and a page of the blocks that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from anica_app.core.answers import Answer, Failure
from anica_app.core.samples import Sample
from anica_app.models import Generalisation
from anica_app.queries.asked import Asked, asked_about
from anica_app.queries.discoveries import Example, Found
from anica_app.queries.generalisations import (
    BY_BLOCK,
    BY_INTEREST,
    BY_LENGTH,
    Node,
    Tree,
    sample_page,
    samples_of_step,
)
from anica_app.views.discoveries.saying import compared, decision, reason
from inference.isa.x86.blocks import BlockError
from inference.isa.x86.blocks.listing import intel_of_bytes
from inference.views.address import one_of, whole_number

PAGE_SIZE = 25
NOT_ASKED = "it was not asked about this block"


@dataclass(frozen=True)
class Row:
    """A block of the table; `lines` are its instructions, `answers` come with who gave them."""

    example: Example
    hex: str
    lines: tuple[str, ...]
    answers: Sequence[tuple[str, Answer]]


def about(row: Generalisation, number: int) -> dict[str, int]:
    """What runs that ask about the blocks of a decision say of them."""
    return {"generalisation": row.pk, "step": number}


def chosen_node(request: HttpRequest, tree: Tree) -> Node | None:
    """The decision in the address, else that which shows examples of the result; None where there is none."""
    number = whole_number(request, "step")
    return tree.telling if number is None else tree.node(number)


def step_context(request: HttpRequest, found: Found, tree: Tree, node: Node) -> dict[str, Any]:
    """What the part of the page about a decision needs (three or four queries)."""
    row = tree.generalisation
    samples = samples_of_step(row, node.number) or []
    asked = asked_about(about(row, node.number))
    extended = with_asked(samples, asked)
    tools = [one.name for one in found.predictors]
    columns = [*tools, *(said.name for said in asked.said)]
    places = [str(place) for place in range(1, len(columns) + 1)]
    sorts = [BY_BLOCK, BY_LENGTH, BY_INTEREST, *places]
    sort = one_of(request, "sort", (*sorts, *(f"-{one}" for one in sorts)), BY_BLOCK)
    values = {
        id(one.sample): one.verdict.value for one in found.examined(extended) if one.verdict is not None
    }
    page = sample_page(
        extended,
        sort.removeprefix("-"),
        descending=sort.startswith("-"),
        value=lambda one: values.get(id(one), 0.0),
        number=whole_number(request, "page", 0) or 0,
        size=PAGE_SIZE,
    )
    before, now = tree.around(node.number)
    return {
        "node": node,
        "pruned": bool(node.n) and not samples,
        "tried": decision(node),
        "why": reason(node),
        "said": compared(before, now),
        "rests": tree.resting(node.number),
        "columns": list(zip(places, columns, strict=True)),
        "tools": len(tools),
        "sort": sort,
        "page": page,
        "rows": [_row(one, columns) for one in found.examined(page.rows)],
        "asked": asked,
        "judged": found.judge is not None,
    }


def with_asked(samples: Sequence[Sample], asked: Asked) -> list[Sample]:
    """The samples with one more answer for each predictor that was asked about them later."""
    lacking = Answer(failure=Failure.NO_NUMBER, detail=NOT_ASKED)
    return [
        Sample(
            one.code,
            (*one.answers, *(said.answers.get(one.code, lacking) for said in asked.said)),
            one.seconds,
        )
        for one in samples
    ]


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
