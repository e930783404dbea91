"""Runs of kind `import-anica`: an uploaded file becomes a basic-block set, or what others make of it."""

from __future__ import annotations

from inference.core.protocols import Json
from inference.features.asking.block_files.request import BlockImportConfig, check_loops
from inference.features.asking.block_files.upload_importers import (
    upload_importer_of_content,
    upload_importers,
)
from inference.features.library.uploads.query import claim_upload, free_upload
from inference.formats.problems import ExchangeError
from inference.models import Run, Upload
from inference.runs.described_rows import needed_row
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task

KIND = "import-anica"
"""As runs that are stored name it."""


class BlockImportJob:
    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError`."""
        complete = BlockImportConfig.read(config).as_json()
        check_loops(complete)
        free_upload(complete["upload"])
        return complete

    def submitted(self, run: Run) -> None:
        """The upload shows which run imports it, and no other does. Raises `ConfigError` where one does."""
        claim_upload(run)

    def work(self, task: Task) -> Store:
        """Read the file, to be stored when the run is finished. Raises `JobError` with the problems."""
        upload = needed_row(Upload, task.run.config["upload"], "uploaded file")
        content = bytes(upload.content)
        importer = upload_importer_of_content(content)
        if importer is None:
            titles = ", ".join(one.titles for one in upload_importers())
            raise JobError(f"{upload.file_name} is none of {titles}")
        try:
            return importer.import_upload(task, upload, content)
        except ExchangeError as error:
            raise JobError(str(error)) from error
