"""API of the search box."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.library.search.query import MAX_TEXT, find, pasted_code
from inference.features.library.search.question import answers_to, question_of
from inference.isa.targets import DEFAULT
from inference.web.contributions import SearchHits
from inference.web.validation import Id

router = Router()
MAX_HITS = 100


class HitOut(Schema):
    """A match, and the address of its page."""

    id: Id
    name: str = Field(examples=["imul GPR[64]:RW, GPR[64]:R"])
    detail: str = Field(examples=["X64 · arithmetic"])
    page: str = Field(examples=["/schemes/812/"])


class GroupOut(Schema):
    """Matches of one kind, best first; `total` includes matches beyond `limit`."""

    kind: str = Field(
        description="schemes, mappings, resource-mappings, runs, sets, machines, campaigns or block-sets.",
        examples=["schemes"],
    )
    title: str = Field(examples=["Schemes of x86-64"])
    total: int = Field(examples=[31])
    hits: list[HitOut]


class SearchAnswerOut(Schema):
    """A page that answers the text as a question, such as "zen 4 imul r64" or "what runs on port 5"."""

    text: str = Field(examples=["imul r64"])
    detail: str = Field(examples=["ports, cycles and latency on Zen 4"])
    page: str = Field(examples=["/i/x86-64/imul/?forms=r64"])


class SearchOut(Schema):
    """The matches. `blocks`: the text as basic blocks in hexadecimal digits, if it is assembly."""

    answers: list[SearchAnswerOut] = Field(examples=[[]])
    groups: list[GroupOut]
    isa: str = Field(description="Instruction set of the blocks.", examples=[DEFAULT])
    blocks: list[str] = Field(examples=[[]])


class SearchParameters(Schema):
    q: str = Field(
        min_length=1,
        max_length=MAX_TEXT,
        description="Words of names and notes, a search of the scheme table, or assembly.",
        examples=["imul"],
    )
    limit: int = Field(8, ge=1, le=MAX_HITS, description="Maximum matches per kind.", examples=[5])


@router.get("/search", response=SearchOut)
def search(request: HttpRequest, sought: Query[SearchParameters]) -> Any:
    """Search schemes, mappings, runs, sets, machines and campaigns, as the search box does."""
    code = pasted_code(sought.q)
    answers = answers_to(question_of(sought.q))
    return {
        "answers": [{"text": row.text, "detail": row.detail, "page": row.page} for row in answers],
        "groups": [_group(group) for group in find(sought.q, sought.limit)],
        "isa": DEFAULT if code is None else code.isa,
        "blocks": [] if code is None else [block.hex for block in code.blocks],
    }


def _group(group: SearchHits) -> dict[str, Any]:
    hits = [
        {"id": hit.pk, "name": hit.name, "detail": hit.detail, "page": reverse(hit.route, args=[hit.pk])}
        for hit in group.hits
    ]
    return {"kind": group.key, "title": group.title, "total": group.total, "hits": hits}
