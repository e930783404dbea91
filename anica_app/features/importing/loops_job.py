"""Runs of kind `loops`: they find loops of an uploaded program, to be chosen from, and store nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from anica_app.formats.incoming import Sort, sort_of_content
from inference.core.event import Event
from inference.core.events import Log, Progress, ResultStored
from inference.core.protocols import Json
from inference.features.library.uploads.query import free_upload
from inference.formats.program_loops import LoopFilter, ProgramLoops, Weighing, find_loops
from inference.isa.targets import DEFAULT
from inference.models import Run, Upload
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import OneOf, RunRequest
from inference.storage.errors import ExchangeError

_EVERY = 0.3  # seconds between two words about progress


def telling(task: Task, unit: str) -> Callable[[int, int], None]:
    """Tells the run's page how far reading is, a few times a second, and hears the wish to stop."""
    started = last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        task.reporter.pulse()
        if now - last >= _EVERY:
            last = now
            rate = done / max(now - started, 1e-9)
            eta = (total - done) / rate if rate else None
            task.reporter.emit(Progress("read", done, total, rate, unit, eta))

    return tell


MOST_KEYS = 20_000
_LONGEST = 300


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
    row = Upload.objects.filter(pk=pk).first()
    if row is None:
        raise JobError("the uploaded file with the samples has been deleted")
    return bytes(row.content), row.file_name


KIND = "loops"
LISTED = 1000
"""Loops that a run's result has; the import of the program takes all that are wanted."""


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


class LoopsJob:
    """Runs of kind `loops`; see `LoopsConfig`."""

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        complete = LoopsConfig.read(config).as_json()
        check_loops(complete)
        free_upload(complete["upload"])
        return complete

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared: the file still waits for a decision."""

    def work(self, task: Task) -> Store:
        """Look for the loops. Raises `JobError` with what is wrong with the file."""
        config = task.run.config
        upload = Upload.objects.filter(pk=config["upload"]).first()
        if upload is None:
            raise JobError("the uploaded file has been deleted")
        content = bytes(upload.content)
        if sort_of_content(content) is not Sort.PROGRAM:
            raise JobError(f"{upload.file_name} is no compiled program: an ELF file of x86-64 is expected")
        try:
            samples = samples_of(config)
            found = find_loops(content, upload.file_name, wanted_of(config), samples, telling(task, "bytes"))
        except ExchangeError as error:
            raise JobError(str(error)) from error
        return partial(_result, upload, found)


def _result(upload: Upload, found: ProgramLoops) -> tuple[Json, Sequence[Event]]:
    name = f"{len(found.loops):,} loop{'' if len(found.loops) == 1 else 's'} in {upload.file_name}"
    facts: Json = {"upload": upload.pk, "name": name, "count": len(found.loops)}
    listed = [
        {
            "key": one.key,
            "function": one.function,
            "address": one.address,
            "code": one.code.hex(),
            "instructions": one.instructions,
            "left_out": one.left_out,
            "weight": one.weight,
            "percent": one.percent,
        }
        for one in found.loops[:LISTED]
    ]
    told: list[Event] = [Log("info", line) for line in found.lines()]
    return {**facts, "total": found.total, "isa": DEFAULT, "lines": found.lines(), "loops": listed}, [
        *told,
        ResultStored(facts),
    ]
