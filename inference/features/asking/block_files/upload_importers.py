"""What takes in uploads by runs of kind `import-anica`: files of blocks, and what other features register."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, runtime_checkable

from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.other_formats import Importer, importer_of_content, importers
from inference.models import Run, Upload
from inference.models.named import Named
from inference.runs.kinds import Store, Task

PREVIEW = "anica-import"
"""Name of the address that shows such an upload before it is imported."""


@runtime_checkable
class UploadImporter(Importer, Protocol):
    """An importer whose uploads wait on the page `PREVIEW` and become rows by a run."""

    sorts: Collection[str]
    """What `read` answers as `sort`."""
    model: type[Named]
    """Whose rows the files become."""
    list_page: str
    """Name of the address that lists these rows."""
    list_title: str

    def import_upload(self, task: Task, upload: Upload, content: bytes) -> Store:
        """Read the file, to be stored when the run is finished. Raises `ExchangeError` or `JobError`."""
        ...

    def outcomes(self, runs: Sequence[Run]) -> dict[int, RunOutcome]:
        """{run id: what it has made}, in a bounded number of queries."""
        ...


def upload_importers() -> list[UploadImporter]:
    """Those of all registered importers that are such."""
    return [one for one in importers() if isinstance(one, UploadImporter)]


def upload_importer_of_content(content: bytes) -> UploadImporter | None:
    """Who takes in an uploaded file; None for nobody."""
    importer = importer_of_content(content)
    return importer if isinstance(importer, UploadImporter) else None


def upload_importer_of_sort(sort: str) -> UploadImporter:
    """Who has read a file as this sort."""
    return next(one for one in upload_importers() if sort in one.sorts)
