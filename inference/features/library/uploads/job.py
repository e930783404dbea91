"""Import runs: an uploaded file becomes a set, a mapping, or a run from elsewhere, all of it or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from inference.core.event import Event
from inference.core.events import Log, PhaseStarted, Progress, ResultStored
from inference.core.protocols import Json
from inference.features.library.uploads.file_reading import FileChoices, preview_as, read_upload
from inference.features.library.uploads.preview import MODELS
from inference.features.library.uploads.query import claim_upload, discard_upload, free_upload
from inference.features.running.runs.archive import RunArchives, store_archive
from inference.formats.other_formats import importer_of_content
from inference.formats.problems import ExchangeError
from inference.formats.run_archive_reading import RunArchive, read_archive
from inference.models import ExperimentSet, Run, Upload
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.storage.importing import Preview, commit
from inference.storage.names import by_name
from inference.storage.rows import store_ahead


class ImportConfig(FileChoices):
    """Beside how the file is read, see `FileChoices`: `name` of what it becomes ("": the one it proposes).

    `evidence`: names of experiment sets of the runs whose result the file is; `others`: microarchitectures to
    import besides, under names of their own. Fields of both that were not given are absent.
    """

    noun = "an import"
    name: str = ""
    note: str = ""
    evidence: list[str] | None = None
    others: list[str] | None = None


class ImportJob:
    """Runs of kind `import`; see `ImportConfig`."""

    def check(self, config: Json) -> Json:
        """The complete description; raises `ConfigError` or `UnknownNameError`."""
        asked = ImportConfig.read(config)
        asked.check()
        if asked.new_isa and asked.others:
            raise ConfigError(
                "others go to an instruction set that is there: import one first, which founds it"
            )
        free_upload(asked.upload)
        for name in asked.evidence or ():
            by_name(ExperimentSet, name)
        return asked.model_dump(exclude_none=True)

    def submitted(self, run: Run) -> None:
        """The upload shows which run imports it, and no other does. Raises `ConfigError` where one does."""
        claim_upload(run)

    def work(self, task: Task) -> Store:
        """Parse the file, to be stored when the run is finished. Raises `JobError` with the problems."""
        asked = ImportConfig.stored(task.run.config)
        upload = Upload.objects.filter(pk=asked.upload).first()
        if upload is None:
            raise JobError("the uploaded file has been deleted")
        if isinstance(importer_of_content(bytes(upload.content)), RunArchives):
            return import_archive(task, upload, discard_upload)
        labels = [f"Read {upload.file_name}", "Store all of it"]
        task.reporter.emit(PhaseStarted("read", 1, labels))
        seen = _seen(asked, upload, asked.microarchitecture or "")
        besides = [_seen(asked, upload, other) for other in asked.others or ()]
        task.reporter.pulse()
        task.reporter.emit(Log("info", _told_of(seen)))
        task.reporter.emit(PhaseStarted("store", 2, labels))
        for each in (seen, *besides):
            _store_ahead(task, each)
        return partial(_store, task, seen, besides, upload)


def _seen(asked: ImportConfig, upload: Upload, microarchitecture: str) -> Preview:
    """The file as it shall be read; raises `JobError` with its problems."""
    try:
        reading = read_upload(upload, asked.unit, microarchitecture)
        evidence = [by_name(ExperimentSet, name) for name in asked.evidence or ()]
        seen = preview_as(reading, asked, evidence=evidence)
    except ExchangeError as error:
        raise JobError(str(error)) from error
    if not seen.acceptable:
        raise JobError("\n".join(["nothing was imported", *seen.parsed.lines()]))
    return seen


def _store_ahead(task: Task, seen: Preview) -> None:
    """Store what nobody sees before the set is there, and tell how far that is."""
    if seen.isa is None:
        return
    total = len(seen.parsed.measured)
    began = time.monotonic()

    def told(done: int) -> None:
        rate = done / max(time.monotonic() - began, 1e-3)
        left = (total - done) / rate
        task.reporter.emit(Progress("store", done, total, round(rate), "experiments", left))
        task.reporter.pulse()

    store_ahead(seen.isa, seen.parsed.measured, told)


def _told_of(seen: Preview) -> str:
    """What was read, in a line of the log."""
    parsed = seen.parsed
    rows = len(parsed.measured)
    told = [f"{rows:,} experiments read" if rows else f"{len(parsed.schemes):,} schemes read"]
    if seen.leave_out and parsed.broken:
        told.append(f"{parsed.broken:,} rows with problems left out, the first: {parsed.lines()[0]}")
    if seen.taken:
        told.append(f"{len(seen.taken):,} unknown names taken for schemes")
    return "; ".join(told)[:1000]


def _store(
    task: Task, seen: Preview, besides: Sequence[Preview], upload: Upload
) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    note = task.run.config["note"]
    made = commit(seen, task.run.config["name"] or seen.name, note=note, run=task.run)
    others = [commit(each, each.name, note=note) for each in besides]
    beside = ImportConfig.stored(task.run.config).beside()
    Upload.objects.filter(pk__in=[pk for _, pk in beside]).delete()
    kind = next(kind for kind, model in MODELS.items() if isinstance(made.row, model))
    result: Json = {kind: made.row.pk, "name": made.row.name, "rows": made.rows}
    told = [f"{made.rows} rows imported", *(f"{each.row.name}: {each.rows} rows" for each in others)]
    logs: list[Event] = [Log("info", text) for text in told]
    return result, [*logs, ResultStored(result)]


def import_archive(task: Task, upload: Upload, discard: Callable[[Upload], None]) -> Store:
    """Read the zip, to be stored when the run is finished. Raises `JobError` with what is wrong with it."""
    try:
        archive = read_archive(bytes(upload.content))
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    return partial(_store_archive, task, archive, upload, discard)


def _store_archive(
    task: Task, archive: RunArchive, upload: Upload, discard: Callable[[Upload], None]
) -> tuple[Json, Sequence[Event]]:
    discard(upload)
    config, user = task.run.config, task.run.created_by
    try:
        made = store_archive(archive, upload.file_name, name=config["name"], note=config["note"], user=user)
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    result: Json = {"imported_run": made.pk, "name": made.name, "rows": archive.rows}
    text = f"run {made.name!r} with {len(archive.events)} events and {archive.rows} measurements"
    return result, [Log("info", text), ResultStored(result)]
