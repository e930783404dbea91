"""Front ends for programs: the numbers with the code behind each, and the pairs that fuse."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.features.learning.front_end.query import (
    COLUMNS,
    front_end_of,
    front_ends,
    fusion_json,
    number_json,
)
from inference.models import MeasuredFrontEnd
from inference.web.api.named_rows import DependentOut, NameAndNote, deleted, dependents_json, renamed
from inference.web.api.paging import PageOf, Paging, listed, sorts
from inference.web.api.shapes import Name, Ref, Text, Time, ref
from inference.web.validation import Id

router = Router()
FrontEndSort = Annotated[str, sorts(COLUMNS)]


class TimedCodeOut(Schema):
    """A code as it was timed."""

    code: str = Field(description="Machine code of one copy.", examples=["90"])
    loop: bool = Field(description="The copies are a loop, else they run once.", examples=[True])
    copies: int = Field(description="0: as many as make about 100 instructions, 200 without a loop.")
    offset: int = Field(description="Bytes behind the beginning of a cache line.", examples=[0])
    cycles: float = Field(description="Of one copy.", examples=[0.2])


class FrontEndNumberOut(Schema):
    """One number, with the codes that it follows from."""

    name: str = Field(examples=["slots"])
    label: str = Field(description="What it counts, and in which unit.", examples=["Slots per cycle"])
    value: float | None = Field(description="Null where it was not measured.", examples=[5.0])
    at_least: bool = Field(description="Nothing larger was tried.", examples=[False])
    codes: list[TimedCodeOut]


class FusionOut(Schema):
    """A comparison and a branch, in cycles side by side and with a move between them."""

    pair: str = Field(examples=["cmp reg, reg + je"])
    fused: bool
    together: float = Field(examples=[1.36])
    apart: float = Field(examples=[1.6])


class FrontEndOut(Schema):
    """A front end as one run has measured it."""

    id: Id
    name: Name
    note: str = Field(examples=[""])
    created: Time
    isa: Ref
    machine: Ref
    run: Id | None
    numbers: list[FrontEndNumberOut]
    fusion: list[FusionOut]


@router.get("/front-ends", response=PageOf[FrontEndOut])
def list_front_ends(
    request: HttpRequest, paging: Query[Paging], q: Text = "", sort: FrontEndSort = "-created"
) -> Any:
    """All front ends; those with a text in name or note where `q` gives one.

    A run of the kind `front-end` makes one.
    """
    rows = front_ends(q.strip())
    return listed(rows, COLUMNS, sort, paging, lambda found: [_front_end(row) for row in found])


@router.get("/front-ends/{front_end_id}", response=FrontEndOut)
def get_front_end(request: HttpRequest, front_end_id: Id) -> Any:
    """One front end."""
    return _front_end(get_object_or_404(front_ends(), pk=front_end_id))


@router.patch("/front-ends/{front_end_id}", response=FrontEndOut)
def rename_front_end(request: HttpRequest, front_end_id: Id, data: NameAndNote) -> Any:
    """Give a front end another name or note."""
    row = get_object_or_404(front_ends(), pk=front_end_id)
    renamed(request, row, data)
    return _front_end(row)


@router.get("/front-ends/{front_end_id}/dependents", response=list[DependentOut])
def list_dependents_of_front_end(request: HttpRequest, front_end_id: Id) -> Any:
    """What depends on this front end, and what becomes of it when the front end is deleted."""
    return dependents_json(get_object_or_404(MeasuredFrontEnd, pk=front_end_id))


@router.delete("/front-ends/{front_end_id}", response={204: None})
def delete_front_end(request: HttpRequest, front_end_id: Id) -> Any:
    """Delete a front end."""
    deleted(get_object_or_404(MeasuredFrontEnd, pk=front_end_id))
    return Status(204, None)


def _front_end(row: MeasuredFrontEnd) -> dict[str, Any]:
    found = front_end_of(row)
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in ("name", "note", "created")},
        "isa": ref(row.isa),
        "machine": ref(row.machine),
        "run": row.run_id,
        "numbers": [number_json(number) for number in found.numbers],
        "fusion": fusion_json(found),
    }
