"""Runs of kind `loops`: they find loops of an uploaded program, to be chosen from, and store nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.event import Event
from inference.core.events import Log, ResultStored
from inference.core.protocols import Json
from inference.features.asking.block_files.progress import telling
from inference.features.asking.block_files.request import LoopsConfig, check_loops, samples_of, wanted_of
from inference.features.library.uploads.query import free_upload
from inference.formats.block_files import BlockFileSort, ProgramLoops, block_file_of, find_loops
from inference.formats.problems import ExchangeError
from inference.isa.targets import DEFAULT
from inference.models import Upload
from inference.runs.described_rows import needed_row
from inference.runs.errors import JobError
from inference.runs.kinds import Job, Store, Task

KIND = "loops"
LISTED = 1000
"""Loops that a run's result has; the import of the program takes all that are wanted."""


class LoopsJob(Job):
    """Runs of kind `loops`; see `LoopsConfig`."""

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        complete = LoopsConfig.read(config).as_json()
        check_loops(complete)
        free_upload(complete["upload"])
        return complete

    def work(self, task: Task) -> Store:
        """Look for the loops. Raises `JobError` with what is wrong with the file."""
        config = task.run.config
        upload = needed_row(Upload, config["upload"], "uploaded file")
        content = bytes(upload.content)
        if block_file_of(content) is not BlockFileSort.PROGRAM:
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
