"""The descriptions of runs that search loops and of runs that import files."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from inference.core.protocols import Json
from inference.formats.block_files import LoopFilter, Weighing
from inference.formats.blocks_csv import BrokenRows, Scale
from inference.models import Upload
from inference.runs.errors import ConfigError
from inference.runs.request import AllowedTexts, RunRequest, needed_row, read_row

MAX_KEYS = 20_000
_MAX_LENGTH = 300
DETECTED = ""
"""The scale of a file's numbers is detected from their values."""
NumbersMeaning = Annotated[str, AllowedTexts((DETECTED, *Scale))]


class LoopsConfig(RunRequest):
    """`upload`: id of a program. `samples`: id of an upload with the output of perf, None for none.

    `functions`: a name or a pattern like `mat*`, "" for all. `program`: the file's name in the output of
    perf, "" to detect it. `weighing`: samples or iterations. `least`: smallest share of all samples, in per
    cent.
    """

    noun = "a search for loops"
    upload: int
    samples: int | None = None
    functions: Annotated[str, Field(max_length=_MAX_LENGTH)] = ""
    program: Annotated[str, Field(max_length=_MAX_LENGTH)] = ""
    weighing: Annotated[str, AllowedTexts(Weighing)] = Weighing.SAMPLES.value
    least: Annotated[float, Field(ge=0, le=100)] = 0.0


class BlockImportConfig(LoopsConfig):
    """A file that becomes a basic-block set or a campaign, called `name` ("": as it calls itself).

    For a table of blocks, `broken`: "stop" or "skip" at unreadable rows; `numbers`: the scale of its numbers,
    "" to detect it, or a list with one per column; `issue_width` and `bounds`, the name of a port mapping:
    answers below what these allow are reported. For a program or a listing, the fields of runs of kind
    `loops`, and `loops`: the keys of the loops to import, [] for all.
    """

    noun = "an import"
    name: str = ""
    note: str = ""
    broken: Annotated[str, AllowedTexts(BrokenRows)] = BrokenRows.STOP.value
    numbers: NumbersMeaning | list[NumbersMeaning] = DETECTED
    issue_width: Annotated[float, Field(ge=0.01, le=1000)] | None = None
    bounds: str = ""
    loops: Annotated[list[str], Field(max_length=MAX_KEYS)] = []


def check_loops(complete: Json) -> None:
    """Check samples, weighing and least. Raises `ConfigError` naming the field."""
    if complete["samples"] is not None:
        read_row(Upload.objects.defer("beginning"), "samples", complete["samples"], "uploaded file")
    elif complete["weighing"] == Weighing.ITERATIONS or complete["least"]:
        raise ConfigError("weighing and least need samples: name the upload that has them in samples")


def loop_filter_of(config: Json) -> LoopFilter:
    return LoopFilter(
        config.get("functions") or "",
        config.get("program") or "",
        Weighing(config.get("weighing") or Weighing.SAMPLES),
        float(config.get("least") or 0.0),
        tuple(config.get("loops") or ()),
    )


def samples_of(config: Json) -> tuple[bytes, str] | None:
    """(content, file name) of the samples, None without any. Raises `JobError` if they were deleted."""
    pk: Any = config.get("samples")
    if pk is None:
        return None
    row = needed_row(Upload, pk, "uploaded file with the samples")
    return row.content, row.file_name
