"""Runs of kind `loops`: they find the loops of an uploaded program, to be chosen from, and store nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from anica_app.campaigning.loop_config import FIELDS, check_loops, samples_of, wanted_of
from anica_app.campaigning.set_config import refuse_unknown
from anica_app.campaigning.telling import telling
from anica_app.exchange.incoming import Sort, sort_of_content
from anica_app.exchange.program_loops import Found, find_loops
from inference.core.protocols import Json
from inference.features.uploads.claiming import free_upload
from inference.models import Run, Upload
from inference.runs.errors import JobError
from inference.runs.job import Store, Task
from inference.runs.journal import Entry
from inference.storage.errors import ExchangeError

KIND = "loops"
LISTED = 1000
"""Loops that a run's result has; the import of the program takes all that are wanted."""


class LoopsJob:
    """Runs of kind `loops`.

    `upload`: id of a program. `samples`: id of an upload with what perf printed, None for none. `functions`:
    a name or a pattern like `mat*`, "" for all. `program`: how perf calls the file, "" to find out.
    `weighing`: samples or iterations. `least`: per cent of all samples that a loop has at least.
    """

    short = True

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        refuse_unknown(config, ("upload", *FIELDS), "a search for loops")
        complete = {"upload": None, **FIELDS, **config}
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


def _result(upload: Upload, found: Found) -> tuple[Json, Sequence[Entry]]:
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
    told: list[Entry] = [("log", {"level": "info", "text": line}) for line in found.lines()]
    return {**facts, "total": found.total, "lines": found.lines(), "loops": listed}, [
        *told,
        ("result", facts),
    ]
