"""Previews of uploaded files with basic blocks."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.features.asking.block_files.query import look_in_sandbox, sort_in_sandbox
from inference.features.library.uploads.query import waiting_uploads
from inference.formats.block_files import BlockFileSort
from inference.web.api.answers import NamedBlock
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import FileProblemOut, parameter
from inference.web.validation import Id

router = Router()


class FileColumnOut(Schema):
    """A column of a file, with its numbers as they would be stored."""

    name: str = Field(examples=["llvm-mca 13"])
    scale: str = Field(description="cycles, hundredths (of 100 executions) or weight.", examples=["cycles"])
    looks: str = Field(description="The scale that its numbers suggest.", examples=["cycles"])
    numbers: int = Field(examples=[100])
    failures: int = Field(examples=[2])
    least: float | None = Field(examples=[0.25])
    most: float | None = Field(examples=[37.0])


class FileRowOut(NamedBlock):
    """One of the first rows of a file."""

    row: int = Field(examples=[2])
    numbers: list[float | None] = Field(examples=[[1.03, -1.0]])


class BlockFileOut(Schema):
    """What the import of an uploaded file with basic blocks would store."""

    rows: int = Field(examples=[99_999])
    left_out: int = Field(description="Number of unreadable rows.", examples=[1])
    empty: int = Field(description="Rows without a block, which are ignored.", examples=[0])
    instructions: int = Field(examples=[420_000])
    duplicates: int = Field(examples=[3])
    columns: list[FileColumnOut]
    problem_count: int = Field(examples=[1])
    problems: list[FileProblemOut]
    doubts: dict[str, int] = Field(
        description="{column: number of answers below the minimum that the processor needs}.",
        examples=[{"osaca": 27}],
    )
    first: list[FileRowOut]


@router.get("/block-sets/files/{block_file_id}", response=BlockFileOut)
def preview_block_file(
    request: HttpRequest,
    block_file_id: Id,
    broken: Literal["stop", "skip"] = "skip",
    issue_width: float | None = parameter(
        None,
        gt=0,
        le=1000,
        description="Issue width of the processor in instructions per cycle.",
        examples=[8],
    ),
) -> Any:
    """Preview the import of an uploaded CSV file with basic blocks, given by the id of the upload.

    The whole file is read.
    """
    upload = get_object_or_404(waiting_uploads().defer(None), pk=block_file_id)
    content = upload.content
    if sort_in_sandbox(content) is not BlockFileSort.BLOCKS:
        raise ProblemError(
            422,
            f"{upload.file_name} holds no basic blocks",
            where="path block_file_id",
            right="a CSV file with machine code or assembly in its first column",
        )
    return look_in_sandbox(content, upload.file_name, broken, issue_width)
