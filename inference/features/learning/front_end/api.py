"""API of front ends: numbers with the timed codes, and pairs that fuse."""

from __future__ import annotations

from typing import Any

from ninja import Router, Schema
from pydantic import Field

from inference.features.learning.front_end.query import (
    COLUMNS,
    front_end_of,
    front_ends,
    fusion_json,
    number_json,
)
from inference.models import MeasuredFrontEnd
from inference.web.api.named_rows import NamedOut, NamedRows
from inference.web.api.shapes import Note, Ref, fields_of
from inference.web.validation import Id

router = Router()


class TimedCodeOut(Schema):
    """A timed code; its copies run as a loop or once."""

    code: str = Field(description="Machine code of one copy.", examples=["90"])
    loop: bool = Field(
        description="Whether the copies form a loop; otherwise they run once.", examples=[True]
    )
    copies: int = Field(
        description="Number of copies; 0: enough for about 100 instructions, 200 without a loop."
    )
    offset: int = Field(description="Bytes after the start of a cache line.", examples=[0])
    cycles: float = Field(description="Cycles per copy.", examples=[0.2])


class FrontEndNumberOut(Schema):
    """One number, with the codes that it follows from."""

    name: str = Field(examples=["slots"])
    label: str = Field(description="The counted event, with its unit.", examples=["Slots per cycle"])
    value: float | None = Field(description="Null where it was not measured.", examples=[5.0])
    at_least: bool = Field(description="Whether no larger value was tested.", examples=[False])
    codes: list[TimedCodeOut]


class FusionOut(Schema):
    """A comparison and a branch: cycles next to each other, and with a move between them."""

    pair: str = Field(examples=["cmp reg, reg + je"])
    fused: bool
    together: float = Field(examples=[1.36])
    apart: float = Field(examples=[1.6])


class FrontEndOut(NamedOut):
    """A front end measured by one run."""

    note: Note = Field(examples=[""])
    isa: Ref
    machine: Ref
    run: Id | None = Field(validation_alias="run_id")
    numbers: list[FrontEndNumberOut]
    fusion: list[FusionOut]
    issue: str | None = Field(
        description="The order in which instructions issue; null where it is not known.",
        examples=["out of order"],
    )


FRONT_ENDS = NamedRows(
    router,
    "/front-ends",
    "front_end",
    front_ends,
    FrontEndOut,
    lambda rows: [_front_end(row) for row in rows],
)
FRONT_ENDS.add_list(
    COLUMNS,
    "-created",
    """All front ends, or those with the text `q` in name or note.

    A run of kind `front-end` creates one.
    """,
)
FRONT_ENDS.add_get("One front end.")
FRONT_ENDS.add_changes("Delete a front end.")


def _front_end(row: MeasuredFrontEnd) -> dict[str, Any]:
    front_end = front_end_of(row)
    numbers = [number_json(number) for number in front_end.numbers]
    issue = None if front_end.issue is None else front_end.issue.text
    return fields_of(row, FrontEndOut, numbers=numbers, fusion=fusion_json(front_end), issue=issue)
