"""Importing the zip of a run: the part of an import run that is about those files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from inference.core.protocols import Json
from inference.exchange.errors import ExchangeError
from inference.exchange.run_archive.reading import Archive, read_archive
from inference.models import Upload
from inference.runs.archived import store_archive
from inference.runs.errors import JobError
from inference.runs.job import Store, Task
from inference.runs.journal import Entry


def import_archive(task: Task, upload: Upload, discard: Callable[[Upload], None]) -> Store:
    """Read the zip, to be stored when the run is finished. Raises `JobError` with what is wrong with it."""
    try:
        archive = read_archive(bytes(upload.content))
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    return partial(_store, task, archive, upload, discard)


def _store(
    task: Task, archive: Archive, upload: Upload, discard: Callable[[Upload], None]
) -> tuple[Json, Sequence[Entry]]:
    discard(upload)
    config, user = task.run.config, task.run.created_by
    try:
        made = store_archive(archive, upload.file_name, name=config["name"], note=config["note"], user=user)
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    result: Json = {"imported_run": made.pk, "name": made.name, "rows": archive.rows}
    text = f"run {made.name!r} with {len(archive.events)} events and {archive.rows} measurements"
    return result, [("log", {"level": "info", "text": text}), ("result", result)]
