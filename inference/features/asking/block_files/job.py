"""Runs that look for loops in an uploaded program, and runs that make a basic-block set of an upload."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.events import Event, Log, ResultStored
from inference.core.protocols import Json
from inference.features.asking.block_files.importer import telling
from inference.features.asking.block_files.query import (
    upload_importer_of_content,
    upload_importers,
)
from inference.features.asking.block_files.request import (
    BlockImportConfig,
    LoopsConfig,
    check_loops,
    samples_of,
    wanted_of,
)
from inference.features.library.uploads.query import claim_upload, free_upload
from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.program_loops import ProgramLoops, find_loops
from inference.isa.targets import DEFAULT
from inference.models import Run, Upload
from inference.runs.errors import JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import needed_row

IMPORT = "import-anica"
"""As runs that are stored name it."""


SEARCH = "loops"
LISTED = 1000
"""Loops that a run's result has; the import of the program takes all that are wanted."""


class LoopsJob(Job):
    """Runs of kind `loops`; see `LoopsConfig`."""

    request: type[LoopsConfig] = LoopsConfig

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        complete = self.request.read(config).as_json()
        check_loops(complete)
        free_upload(complete["upload"])
        return complete

    def work(self, task: Task) -> Store:
        """Look for the loops. Raises `ExchangeError` or `JobError` with what is wrong with the file."""
        config = task.run.config
        upload = needed_row(Upload, config["upload"], "uploaded file")
        content = bytes(upload.content)
        if block_file_of(content) is not BlockFileSort.PROGRAM:
            raise JobError(f"{upload.file_name} is no compiled program: an ELF file of x86-64 is expected")
        wanted, samples = wanted_of(config), samples_of(config)
        found = find_loops(content, upload.file_name, wanted, samples, telling(task, "bytes"))
        return partial(_result, upload, found)


class BlockImportJob(LoopsJob):
    """Runs of kind `import-anica`; see `BlockImportConfig`."""

    request = BlockImportConfig

    def submitted(self, run: Run) -> None:
        """The upload shows which run imports it, and no other does. Raises `ConfigError` where one does."""
        claim_upload(run)

    def work(self, task: Task) -> Store:
        """Read the file, to be stored when the run is finished. Raises `ExchangeError` or `JobError`."""
        upload = needed_row(Upload, task.run.config["upload"], "uploaded file")
        content = bytes(upload.content)
        importer = upload_importer_of_content(content)
        if importer is None:
            titles = ", ".join(one.titles for one in upload_importers())
            raise JobError(f"{upload.file_name} is none of {titles}")
        return importer.import_upload(task, upload, content)


_FIELDS = ("key", "function", "address", "instructions", "left_out", "weight", "percent")


def _result(upload: Upload, found: ProgramLoops) -> tuple[Json, Sequence[Event]]:
    name = f"{len(found.loops):,} loop{'' if len(found.loops) == 1 else 's'} in {upload.file_name}"
    facts: Json = {"upload": upload.pk, "name": name, "count": len(found.loops)}
    listed = [
        {field: getattr(loop, field) for field in _FIELDS} | {"code": loop.code.hex()}
        for loop in found.loops[:LISTED]
    ]
    told: list[Event] = [Log("info", line) for line in found.lines()]
    result = {**facts, "total": found.total, "isa": DEFAULT, "lines": found.lines(), "loops": listed}
    return result, [*told, ResultStored(facts)]
