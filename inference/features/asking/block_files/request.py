"""What runs that look for loops and runs that import files are told, and what their fields stand for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from inference.core.protocols import Json
from inference.formats.blocks_csv import Broken, Scale
from inference.formats.program_loops import LoopFilter, Weighing
from inference.models import Upload
from inference.runs.errors import ConfigError
from inference.runs.request import OneOf, RunRequest, needed_row, read_row

MOST_KEYS = 20_000
_LONGEST = 300
FOUND_OUT = ""
"""The numbers of a file mean what they look like."""
NumbersMeaning = Annotated[str, OneOf((FOUND_OUT, *Scale))]


class LoopsConfig(RunRequest):
    """`upload`: id of a program. `samples`: id of an upload with what perf printed, None for none.

    `functions`: a name or a pattern like `mat*`, "" for all. `program`: how perf calls the file, "" to find
    out. `weighing`: samples or iterations. `least`: per cent of all samples that a loop has at least.
    """

    noun = "a search for loops"
    upload: int
    samples: int | None = None
    functions: Annotated[str, Field(max_length=_LONGEST)] = ""
    program: Annotated[str, Field(max_length=_LONGEST)] = ""
    weighing: Annotated[str, OneOf(Weighing)] = Weighing.SAMPLES.value
    least: Annotated[float, Field(ge=0, le=100)] = 0.0


class BlockImportConfig(LoopsConfig):
    """A file that becomes a basic-block set or a campaign, called `name` ("": as it calls itself).

    Of a set, `broken`: "stop" or "skip" at rows that cannot be read; `numbers`: what those of the file are,
    "" to find out, or a list with one for each column; `issue_width` and `bounds`, the name of a port
    mapping: what answers are compared with. Of a program or a listing, which loops: the fields of runs of
    kind `loops`, and in `loops` the keys of some that such a run has found, [] for all.
    """

    noun = "an import"
    name: str = ""
    note: str = ""
    broken: Annotated[str, OneOf(Broken)] = Broken.STOP.value
    numbers: NumbersMeaning | list[NumbersMeaning] = FOUND_OUT
    issue_width: Annotated[float, Field(ge=0.01, le=1000)] | None = None
    bounds: str = ""
    loops: Annotated[list[str], Field(max_length=MOST_KEYS)] = []


def check_loops(complete: Json) -> None:
    """Check what such runs have in common. Raises `ConfigError` naming the field."""
    if complete["samples"] is not None:
        read_row(Upload.objects.defer("content"), "samples", complete["samples"], "uploaded file")
    elif complete["weighing"] == Weighing.ITERATIONS or complete["least"]:
        raise ConfigError("weighing and least are about samples: name the upload that has them in samples")


def wanted_of(config: Json) -> LoopFilter:
    """The same as a value."""
    return LoopFilter(
        config.get("functions") or "",
        config.get("program") or "",
        Weighing(config.get("weighing") or Weighing.SAMPLES),
        float(config.get("least") or 0.0),
        tuple(config.get("loops") or ()),
    )


def samples_of(config: Json) -> tuple[bytes, str] | None:
    """Content and name of the samples. Raises `JobError` where they have been deleted."""
    pk: Any = config.get("samples")
    if pk is None:
        return None
    row = needed_row(Upload, pk, "uploaded file with the samples")
    return bytes(row.content), row.file_name
