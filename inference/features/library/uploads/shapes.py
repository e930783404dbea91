"""What is wrong with an uploaded file, as answers of the API have it."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field


class FileProblemOut(Schema):
    """One thing wrong with a file; `row` is a line, or the number of an entry in a list, from 1."""

    row: int | None = Field(examples=[3])
    column: str = Field(examples=["cycles"])
    message: str = Field(examples=["'fast' is not a number"])
    right: str = Field(examples=["a number such as 1.25 is expected"])
