"""What uploaded files with basic blocks would become."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.features.asking.block_files.query import look_apart, sort_apart
from inference.features.library.uploads.query import waiting_uploads
from inference.formats.block_files import BlockFileSort
from inference.web.api.answers import NamedBlock
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import FileProblemOut, parameter
from inference.web.validation import Id

router = Router()


class FileColumnOut(Schema):
    """A column of a file, its numbers as they would be stored."""

    name: str = Field(examples=["llvm-mca 13"])
    scale: str = Field(description="cycles, hundredths (of 100 executions) or weight.", examples=["cycles"])
    looks: str = Field(description="What its numbers look like, which changes nothing.", examples=["cycles"])
    numbers: int = Field(examples=[100])
    failures: int = Field(examples=[2])
    least: float | None = Field(examples=[0.25])
    most: float | None = Field(examples=[37.0])


class FileRowOut(NamedBlock):
    """One of the first rows of a file."""

    row: int = Field(examples=[2])
    numbers: list[float | None] = Field(examples=[[1.03, -1.0]])


class BlockFileOut(Schema):
    """What an uploaded file with basic blocks would bring."""

    rows: int = Field(examples=[99_999])
    left_out: int = Field(description="Rows that cannot be read.", examples=[1])
    empty: int = Field(description="Rows without a block, passed over.", examples=[0])
    instructions: int = Field(examples=[420_000])
    duplicates: int = Field(examples=[3])
    columns: list[FileColumnOut]
    problem_count: int = Field(examples=[1])
    problems: list[FileProblemOut]
    doubts: dict[str, int] = Field(
        description="By column, answers below what a processor needs.", examples=[{"osaca": 27}]
    )
    first: list[FileRowOut]


@router.get("/block-sets/files/{block_file_id}", response=BlockFileOut)
def preview_block_file(
    request: HttpRequest,
    block_file_id: Id,
    broken: Literal["stop", "skip"] = "skip",
    issue_width: float | None = parameter(
        None, gt=0, le=1000, description="Instructions per cycle.", examples=[8]
    ),
) -> Any:
    """What an uploaded CSV file with basic blocks would become, by the number of the upload.

    It is read to its end.
    """
    upload = get_object_or_404(waiting_uploads().defer(None), pk=block_file_id)
    content = bytes(upload.content)
    if sort_apart(content) is not BlockFileSort.BLOCKS:
        raise ProblemError(
            422,
            f"{upload.file_name} holds no basic blocks",
            where="path block_file_id",
            right="a CSV file with machine code or assembly in its first column",
        )
    return look_apart(content, upload.file_name, broken, issue_width)
