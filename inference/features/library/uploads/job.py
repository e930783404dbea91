"""Runs on uploaded files: one reads a file and shows what it would bring, the other imports it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, TypeVar

from django.db.models import QuerySet
from django.urls import reverse
from pydantic import Field, JsonValue

from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.protocols import Json
from inference.features.library.uploads.query import (
    MODELS,
    SIDE_FILE_SIZE,
    as_json,
    claim_upload,
    discard_upload,
    free_upload,
    waiting_uploads,
)
from inference.features.running.runs.archive import RunArchives, store_archive
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.errors import ExchangeError
from inference.formats.file_units import FileUnit
from inference.formats.import_formats import ParsedFile, pack, read, unpack
from inference.formats.other_formats import importer_of_content
from inference.formats.run_archive.reading import RunArchive, read_archive
from inference.formats.side_files import name_list_of, rejects_of
from inference.models import ISA, ExperimentSet, PortMapping, Run, Upload
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import OneOf, RunRequest
from inference.storage.importing import Preview, commit, preview_of
from inference.storage.names import NAME_LIMIT, by_name
from inference.storage.resource_mappings import load_model
from inference.storage.rows import store_ahead

STOP, LEAVE_OUT = "stop", "leave out"
"""What becomes of a file with rows that have problems."""
Value = TypeVar("Value")
Parse = Callable[[bytes, str, FileUnit | None, str], ParsedFile]
SchemeName = Annotated[str, Field(max_length=500)]
GUESSED = ""
"""The unit of numbers that name none is what they seem to be."""


class FileChoices(RunRequest):
    """`upload`: id of the file.

    `isa`: name of its instruction set, or `new_isa`: the name of one to found (neither: the likely one).
    `unit`: of CSV rows that name none. `names`: id of an upload with scheme names for the instructions of a
    Palmed file; `rejects`: ids of uploads with what the runs rejected whose result the file is;
    `microarchitecture`: the one to read of a file that has several; `taken`: {unknown name: scheme that it is
    taken for}; `broken`: "leave out" where rows with problems are left out, "stop" where they keep all from
    being imported.
    """

    upload: int
    isa: str = ""
    new_isa: Annotated[str, Field(max_length=NAME_LIMIT)] = ""
    unit: Annotated[str, OneOf(FileUnit)] = FileUnit.CYCLES.value
    names: int | None = None
    rejects: list[int] | None = None
    microarchitecture: Annotated[str, Field(max_length=40)] | None = None
    taken: dict[SchemeName, SchemeName] | None = None
    broken: Annotated[str, OneOf((STOP, LEAVE_OUT))] | None = None

    def check(self) -> None:
        """What only rows of the database tell. Raises `ConfigError` or `UnknownNameError`."""
        if self.taken and self.new_isa:
            raise ConfigError("taken: a new instruction set knows all names of its file")
        if self.isa:
            by_name(ISA, self.isa)
        if self.isa and self.new_isa:
            raise ConfigError("isa and new_isa exclude each other")
        for field, pk in self.beside():
            if not Upload.objects.filter(pk=pk).exists():
                raise ConfigError(f"{field}: there is no uploaded file with the id {pk!r}")

    def beside(self) -> list[tuple[str, int]]:
        """(field, id) of the uploads that come beside the file."""
        names = [("names", self.names)] if self.names else []
        return [*names, *(("rejects", pk) for pk in self.rejects or ())]


class ReadConfig(FileChoices):
    """How an upload is read; see `FileChoices`.

    `unit`: "" for what the numbers seem to be. `names`: 0 for none, without it the newest list that waits;
    `rejects`: without them all that wait. `take_nearest`: unknown names are taken for the nearest schemes.
    `ports`: name of a mapping that the numbers are held against. `options`: of formats of another app.
    """

    noun = "the reading of a file"
    unit: Annotated[str, OneOf((GUESSED, *FileUnit))] = GUESSED
    take_nearest: bool = False
    ports: str = ""
    options: dict[str, JsonValue] = {}


class ReadJob:
    def check(self, config: Json) -> Json:
        """The complete description; raises `ConfigError` or `UnknownNameError`."""
        asked = ReadConfig.read(config)
        asked.check()
        free_upload(asked.upload)
        if asked.ports:
            by_name(PortMapping, asked.ports)
        return asked.as_json()

    def submitted(self, run: Run) -> None:
        """The file shows this reading from now on; those before it that have ended are forgotten."""
        mine = Upload.objects.filter(pk=run.config["upload"])
        Run.objects.filter(kind="read", upload_read__in=mine, state__in=Run.FINAL).delete()
        mine.update(reading=run, preview=None)

    def work(self, task: Task) -> Store:
        """Read the file. Raises `JobError` or `ExchangeError` where there is nothing to show of it."""
        asked = ReadConfig.stored(task.run.config)
        upload = _upload(asked.upload, "the uploaded file has been deleted")
        other = importer_of_content(bytes(upload.content))
        if other is not None:
            seen = other.read(bytes(upload.content), upload.file_name, asked.options)
            return partial(_keep_preview, task.run, upload, {"page": other.preview, "seen": seen}, None)
        reading = read_upload(upload, asked.unit, asked.microarchitecture or "")
        task.reporter.pulse()
        offered = _side_files(reading)
        asked = asked.model_copy(update=_beside(asked, offered))
        preview = preview_as(reading, asked, take_nearest=asked.take_nearest)
        ports = load_model(by_name(PortMapping, asked.ports)) if asked.ports else None
        shown = {**as_json(preview, ports), **offered, "names": asked.names, "rejects": asked.rejects}
        return partial(
            _keep_preview, task.run, upload, {**shown, "import": _decided(asked, preview)}, pack(reading)
        )


def read_upload(upload: Upload, unit: str, microarchitecture: str = "", parse: Parse = read) -> ParsedFile:
    """What a file says: as it was read before, else read now. `unit`: "" for what its numbers seem to be."""
    if upload.parsed is not None:
        before = unpack(bytes(upload.parsed))
        same = before.guessed if not unit else before.document.facts.get("unit", unit) == unit
        if same and before.wanted == microarchitecture:
            return before
    meant = FileUnit(unit) if unit else None
    return parse(bytes(upload.content), upload.file_name, meant, microarchitecture)


def preview_as(
    reading: ParsedFile,
    choices: FileChoices,
    *,
    evidence: Sequence[ExperimentSet] = (),
    take_nearest: bool = False,
) -> Preview:
    """What a file would bring, looked up as is chosen.

    Raises `ExchangeError` where that cannot be, and `JobError` where a file beside it has been deleted.
    """
    return preview_of(
        reading,
        isa=by_name(ISA, choices.isa) if choices.isa else None,
        founding=choices.new_isa,
        names=_side_file(choices.names, name_list_of) if choices.names else None,
        rejects=[_side_file(pk, rejects_of) for pk in choices.rejects or ()],
        evidence=evidence,
        taken=choices.taken,
        take_nearest=take_nearest,
        leave_out=choices.broken == LEAVE_OUT,
    )


def _upload(pk: int, missing: str) -> Upload:
    upload = Upload.objects.filter(pk=pk).first()
    if upload is None:
        raise JobError(missing)
    return upload


def _side_file(pk: int, read_it: Callable[[bytes, str], Value]) -> Value:
    """What an upload beside the file says."""
    upload = _upload(pk, "a file that was uploaded beside this one has been deleted")
    return read_it(bytes(upload.content), upload.file_name)


def outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The previews that wait for a decision (one query)."""
    waiting = waiting_uploads().filter(reading__in=runs, preview__isnull=False)
    return {
        upload.reading_id: RunOutcome("Awaiting confirmation", reverse("upload-preview", args=[upload.pk]))
        for upload in waiting.only("reading")
        if upload.reading_id is not None
    }


def _decided(asked: ReadConfig, seen: Preview) -> Json:
    """The description of an import that takes the file as it is shown, but for what it will be called."""
    facts = seen.parsed.facts
    found = {
        "isa": seen.isa.name if seen.isa else "",
        "new_isa": seen.new_isa,
        "unit": facts.get("unit", FileUnit.CYCLES.value),
        "names": asked.names or None,
        "rejects": asked.rejects or None,
        "microarchitecture": seen.microarchitecture or None,
        "taken": dict(seen.taken) or None,
        "broken": LEAVE_OUT if seen.leave_out else None,
    }
    return {field: value for field, value in found.items() if value is not None}


_NAMED = "palmed-mapping"
_REJECTED = ("explained-mapping", "pmevo-mapping")
"""Formats of files with which lists of names, or of schemes that runs have rejected, can be read."""


def _side_files(reading: ParsedFile) -> Json:
    """Those that wait and can belong to the file, as {id, name}: newest names, oldest rejects first."""
    key = "" if reading.format is None else reading.format.key
    return {
        "name_lists": _readable_by(name_list_of)[::-1] if key == _NAMED else [],
        "reject_lists": _readable_by(rejects_of) if key in _REJECTED else [],
    }


def _beside(asked: ReadConfig, offered: Json) -> Json:
    """The lists that are used: those that were asked for, else the newest names and all rejects."""
    names, rejects = ([each["id"] for each in offered[field]] for field in ("name_lists", "reject_lists"))
    return {
        "names": next(iter(names), 0) if asked.names is None else asked.names,
        "rejects": rejects if asked.rejects is None else asked.rejects,
    }


def _readable_by(read: Callable[[bytes, str], object]) -> list[Json]:
    """The small waiting uploads that this reads, oldest first."""
    found: list[Json] = []
    waiting: QuerySet[Any] = waiting_uploads().defer(None).defer("parsed")
    for upload in waiting.filter(size__lte=SIDE_FILE_SIZE):
        with suppress(ExchangeError):
            read(bytes(upload.content), upload.file_name)
            found.append({"id": upload.pk, "name": upload.file_name})
    return found


def _keep_preview(
    run: Run, upload: Upload, preview: Json, parsed: bytes | None
) -> tuple[Json, Sequence[Event]]:
    """Keep what was found, unless the file is being read in another way or has gone meanwhile."""
    Upload.objects.filter(pk=upload.pk, reading=run).update(preview=preview, parsed=parsed)
    result: Json = {"upload": upload.pk, "name": upload.file_name}
    return result, [ResultStored(result)]


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
        upload = _upload(asked.upload, "the uploaded file has been deleted")
        if isinstance(importer_of_content(bytes(upload.content)), RunArchives):
            return _import_archive(task, upload)
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
    reading = read_upload(upload, asked.unit, microarchitecture)
    evidence = [by_name(ExperimentSet, name) for name in asked.evidence or ()]
    seen = preview_as(reading, asked, evidence=evidence)
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


def _import_archive(task: Task, upload: Upload) -> Store:
    """Read the zip, to be stored when the run is finished. Raises `JobError` with what is wrong with it."""
    try:
        archive = read_archive(bytes(upload.content))
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    return partial(_store_archive, task, archive, upload)


def _store_archive(task: Task, archive: RunArchive, upload: Upload) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    config, user = task.run.config, task.run.created_by
    try:
        made = store_archive(archive, upload.file_name, name=config["name"], note=config["note"], user=user)
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    result: Json = {"imported_run": made.pk, "name": made.name, "rows": archive.rows}
    text = f"run {made.name!r} with {len(archive.events)} events and {archive.rows} measurements"
    return result, [Log("info", text), ResultStored(result)]
