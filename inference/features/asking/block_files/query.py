"""What uploads with blocks are, who takes them in, and what came of it."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Sequence
from typing import Protocol, runtime_checkable

from django.urls import reverse

from inference.core.protocols import Json
from inference.features.library.uploads.query import waiting_uploads
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome
from inference.formats.answer_bounds import Bounds
from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.block_sets import BlockSetOptions, look
from inference.formats.blocks_csv import Broken
from inference.formats.other_formats import Importer, importer_of_content, importers
from inference.formats.perf_texts import is_annotate
from inference.models import Run, Upload
from inference.models.named import Named
from inference.runs.kinds import Store, Task
from inference.web.reading_process import READING_SECONDS, read_apart

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


def sort_apart(content: bytes) -> BlockFileSort | None:
    """As `block_file_of`. Raises `ExchangeError` where that takes too long."""
    name = read_apart(_sort, content).decode()
    return BlockFileSort(name) if name else None


def have_samples(beginnings: Sequence[bytes]) -> list[bool]:
    """Which of the files that begin so have samples of perf. Raises `ExchangeError` as `sort_apart` does."""
    sizes = [len(beginning) for beginning in beginnings]
    answers: list[bool] = json.loads(read_apart(_have_samples, b"".join(beginnings), sizes=sizes))
    return answers


def look_apart(content: bytes, file_name: str, broken: str, issue_width: float | None) -> Json:
    """What a file of blocks would become. Raises `ExchangeError` where that takes too long."""
    options = {"file_name": file_name, "broken": broken, "issue_width": issue_width}
    answer: Json = json.loads(read_apart(_look, content, seconds=READING_SECONDS, **options))
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
    reading = BlockSetOptions(Broken(broken), bounds=Bounds(issue_width))
    return json.dumps(look(io.BytesIO(content), file_name, reading).as_json()).encode()


_BROKEN = {Broken.STOP: "stop the import", Broken.SKIP: "are left out and reported"}


def imports_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """What came out of the files, of whichever sort (a query each, or two)."""
    return {run: made for one in upload_importers() for run, made in one.outcomes(runs).items()}


def loops_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The lists of loops that these runs have found, as long as their files wait (one query)."""
    of_uploads = {run.pk: run.result["upload"] for run in runs if run.result.get("upload")}
    waiting = set(waiting_uploads().filter(pk__in=of_uploads.values()).values_list("pk", flat=True))
    there = {run: upload for run, upload in of_uploads.items() if upload in waiting}
    names = {run.pk: run.result["name"] for run in runs if run.pk in there}
    return {
        run: RunOutcome(names[run], f"{reverse('anica-loops', args=[upload])}?run={run}")
        for run, upload in there.items()
    }


def import_words(run: Run) -> Iterator[DescriptionItem]:
    config = run.config
    yield DescriptionItem("Becomes", config["name"])
    yield DescriptionItem("Rows that cannot be read", _BROKEN[Broken(config["broken"])])
    numbers = config["numbers"]
    told = numbers if isinstance(numbers, list) else [numbers]
    yield DescriptionItem("Unit of the numbers", ", ".join(one or "detected" for one in told))
    if config["issue_width"] is not None:
        yield DescriptionItem("Instructions per cycle", f"{config['issue_width']:g} at most")
    yield DescriptionItem("Checked against the ports of", config["bounds"])
