"""Detecting uploads with blocks, finding their importers, and the outcomes of import runs."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Sequence
from typing import BinaryIO, Protocol, runtime_checkable

from django.urls import reverse

from inference.core.protocols import Json
from inference.features.library.uploads.query import waiting_uploads
from inference.features.running.runs.kind_presentation import DescriptionItem, KindPresentation, RunOutcome
from inference.formats.block_doubts import Bounds
from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.block_sets import BlockSetOptions, summarise
from inference.formats.blocks_csv import BrokenRows
from inference.formats.other_formats import Importer, importer_of_file, importers
from inference.formats.perf_texts import is_annotate
from inference.models import Run, Upload
from inference.models.named import Named
from inference.runs.kinds import Store, Task
from inference.web.reading_process import READING_SECONDS, read_isolated

PREVIEW = "anica-import"
"""Name of the URL with the preview of such an upload."""


@runtime_checkable
class UploadImporter(Importer, Protocol):
    """An importer whose uploads wait on the page `PREVIEW` and become rows by a run."""

    sorts: Collection[str]
    """Values that `read` returns as `sort`."""
    model: type[Named]
    """The model whose rows the files become."""
    list_page: str
    """Name of the URL that lists these rows."""
    list_title: str

    def import_upload(self, task: Task, upload: Upload) -> Store:
        """Read the file, to be stored when the run is finished. Raises `ExchangeError` or `JobError`."""
        ...

    def outcomes(self, runs: Sequence[Run]) -> dict[int, RunOutcome]:
        """{run id: the imported row}, in a bounded number of queries."""
        ...


def upload_importers() -> list[UploadImporter]:
    return [importer for importer in importers() if isinstance(importer, UploadImporter)]


def upload_importer_of_file(file: BinaryIO) -> UploadImporter | None:
    """The importer of an uploaded file; None if there is none."""
    importer = importer_of_file(file)
    return importer if isinstance(importer, UploadImporter) else None


def upload_importer_of_sort(sort: str) -> UploadImporter:
    return next(importer for importer in upload_importers() if sort in importer.sorts)


def sort_in_sandbox(content: bytes) -> BlockFileSort | None:
    """`block_file_of` in a process of its own. Raises `ExchangeError` if it takes too long."""
    name = read_isolated(_sort, content).decode()
    return BlockFileSort(name) if name else None


def have_samples(beginnings: Sequence[bytes]) -> list[bool]:
    """For each beginning of a file, whether it has samples of perf. Raises `ExchangeError` if it takes too
    long."""
    sizes = [len(beginning) for beginning in beginnings]
    answers: list[bool] = json.loads(read_isolated(_have_samples, b"".join(beginnings), sizes=sizes))
    return answers


def look_in_sandbox(content: bytes, file_name: str, broken: str, issue_width: float | None) -> Json:
    """The preview of a table of blocks. Raises `ExchangeError` if it takes too long."""
    options = {"file_name": file_name, "broken": broken, "issue_width": issue_width}
    answer: Json = json.loads(read_isolated(_look, content, seconds=READING_SECONDS, **options))
    return answer


def _sort(content: bytes) -> bytes:
    return (block_file_of(content) or "").encode()


def _have_samples(content: bytes, sizes: Sequence[int]) -> bytes:
    file = io.BytesIO(content)
    return json.dumps([_has_samples(file.read(size)) for size in sizes]).encode()


def _has_samples(beginning: bytes) -> bool:
    sort = block_file_of(beginning)
    return sort is BlockFileSort.SAMPLES or (
        sort is BlockFileSort.LISTING and is_annotate(beginning.decode("utf-8-sig", "replace"))
    )


def _look(content: bytes, file_name: str, broken: str, issue_width: float | None) -> bytes:
    reading = BlockSetOptions(BrokenRows(broken), bounds=Bounds(issue_width))
    return json.dumps(summarise(io.BytesIO(content), file_name, reading).as_json()).encode()


_BROKEN = {BrokenRows.STOP: "stop the import", BrokenRows.SKIP: "are left out and reported"}


def imports_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: the imported row} for all importers (one or two queries each)."""
    return {
        run: outcome for importer in upload_importers() for run, outcome in importer.outcomes(runs).items()
    }


def loops_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: the page with its loops}, while the searched file is stored (one query)."""
    of_uploads = {run.pk: run.result["upload"] for run in runs if run.result.get("upload")}
    waiting = set(waiting_uploads().filter(pk__in=of_uploads.values()).values_list("pk", flat=True))
    there = {run: upload for run, upload in of_uploads.items() if upload in waiting}
    names = {run.pk: run.result["name"] for run in runs if run.pk in there}
    return {
        run: RunOutcome(names[run], f"{reverse('anica-loops', args=[upload])}?run={run}")
        for run, upload in there.items()
    }


def import_description(run: Run) -> Iterator[DescriptionItem]:
    config = run.config
    yield DescriptionItem("Becomes", config["name"])
    yield DescriptionItem("Unreadable rows", _BROKEN[BrokenRows(config["broken"])])
    numbers = config["numbers"]
    scales = numbers if isinstance(numbers, list) else [numbers]
    yield DescriptionItem("Unit of the numbers", ", ".join(scale or "detected" for scale in scales))
    if config["issue_width"] is not None:
        yield DescriptionItem("Instructions per cycle", f"{config['issue_width']:g} at most")
    yield DescriptionItem("Checked against the ports of", config["bounds"])


PRESENTATIONS = {
    "import-anica": KindPresentation(words=import_description, outcomes=imports_of),
    "loops": KindPresentation(outcomes=loops_of),
}
