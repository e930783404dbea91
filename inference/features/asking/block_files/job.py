"""Runs that search loops in an uploaded program, and runs that import a basic-block set from an upload."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.events import Event, Log, ResultStored
from inference.core.protocols import Json
from inference.features.asking.block_files.importer import progress_reporter
from inference.features.asking.block_files.query import (
    upload_importer_of_file,
    upload_importers,
)
from inference.features.asking.block_files.request import (
    BlockImportConfig,
    LoopsConfig,
    check_loops,
    loop_filter_of,
    samples_of,
)
from inference.features.library.uploads.query import claim_upload, free_upload
from inference.formats.block_files import BlockFileSort, ProgramLoops, block_file_of, find_loops
from inference.isa.code.binaries.headers import EXPECTED
from inference.models import Run, Upload
from inference.runs.errors import JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import needed_row
from inference.storage.names import file_name, result_name

IMPORT = "import-anica"
"""The kind of import runs, kept from the time when only campaigns were imported."""


SEARCH = "loops"
MAX_LISTED = 1000
"""Loops stored in a run's result; the import of the program reads all selected ones again."""


class LoopsJob(Job):
    request: type[LoopsConfig] = LoopsConfig

    def check(self, config: Json) -> Json:
        complete = self.request.read(config).as_json()
        check_loops(complete)
        free_upload(complete["upload"])
        return complete

    def default_name(self, config: Json) -> str:
        return result_name(file_name(config["upload"]), "loops")

    def work(self, task: Task) -> Store:
        """Search the loops. Raises `ExchangeError` or `JobError` for a file that cannot be read."""
        config = task.run.config
        upload = needed_row(Upload, config["upload"], "uploaded file")
        content = upload.content
        if block_file_of(content) is not BlockFileSort.PROGRAM:
            raise JobError(f"{upload.file_name} is no compiled program: expected {EXPECTED}")
        loop_filter, samples = loop_filter_of(config), samples_of(config)
        loops = find_loops(content, upload.file_name, loop_filter, samples, progress_reporter(task, "bytes"))
        return partial(_result, upload, loops)


class BlockImportJob(LoopsJob):
    request = BlockImportConfig

    def default_name(self, config: Json) -> str:
        return result_name(file_name(config["upload"]), "import")

    def submitted(self, run: Run) -> None:
        """Claim the upload for the run. Raises `ConfigError` if another run imports it."""
        claim_upload(run)

    def work(self, task: Task) -> Store:
        """Read the file; the result stores it when the run ends. Raises `ExchangeError` or `JobError`."""
        upload = needed_row(Upload, task.run.config["upload"], "uploaded file")
        importer = upload_importer_of_file(upload.open())
        if importer is None:
            titles = ", ".join(candidate.titles for candidate in upload_importers())
            raise JobError(f"{upload.file_name} is none of {titles}")
        return importer.import_upload(task, upload)


_FIELDS = ("key", "function", "address", "instructions", "left_out", "weight", "percent")


def _result(upload: Upload, loops: ProgramLoops) -> tuple[Json, Sequence[Event]]:
    name = f"{len(loops.loops):,} loop{'' if len(loops.loops) == 1 else 's'} in {upload.file_name}"
    facts: Json = {"upload": upload.pk, "name": name, "count": len(loops.loops)}
    listed = [
        {field: getattr(loop, field) for field in _FIELDS} | {"code": loop.code.hex()}
        for loop in loops.loops[:MAX_LISTED]
    ]
    log: list[Event] = [Log("info", line) for line in loops.lines()]
    result = {**facts, "total": loops.total, "isa": loops.isa, "lines": loops.lines(), "loops": listed}
    return result, [*log, ResultStored(facts)]


JOBS = {"import-anica": BlockImportJob, "loops": LoopsJob}
