"""Runs on uploaded files: `read` makes a preview of a file, `import` stores it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
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
    claim_upload,
    discard_upload,
    free_upload,
    preview_json,
    waiting_uploads,
)
from inference.features.running.runs.archive import RunArchives, store_archive
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.file_numbers import FileUnit
from inference.formats.import_formats import ParsedFile, name_list_of, pack, read, rejects_of, unpack
from inference.formats.other_formats import importer_of_file
from inference.formats.problems import ExchangeError
from inference.formats.run_archive_reading import RunArchive, read_archive
from inference.isa.microarchitecture import TOOL_NAMES
from inference.models import ISA, ExperimentSet, PortMapping, Run, Upload
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import AllowedTexts, RunRequest
from inference.storage.importing import Preview, commit, doubt_lines, preview_of
from inference.storage.mappings import load_model
from inference.storage.names import NAME_LIMIT, by_name, file_name, result_name
from inference.storage.rows import store_ahead

STOP, LEAVE_OUT = "stop", "leave out"
"""Values of `broken`: reject a file with problems, or skip their rows."""
Value = TypeVar("Value")
Parse = Callable[[bytes, str, FileUnit | None, str], ParsedFile]
SchemeName = Annotated[str, Field(max_length=500)]
GUESSED = ""
"""The unit of numbers without one is guessed."""


class FileChoices(RunRequest):
    """Options of parsing a file.

    `upload`: id of the file. `isa`: name of its instruction set, or `new_isa`: the name of one to create
    (neither: the most likely one). `unit`: of CSV rows without one. `names`: id of an upload with scheme
    names for the instructions of a Palmed file; `rejects`: ids of uploads with the schemes that the runs
    behind the file rejected; `microarchitecture`: the part to parse of a file with several; `taken`: {unknown
    name: its substitute}; `broken`: "leave out" skips rows with problems, "stop" imports nothing then.
    """

    upload: int
    isa: str = ""
    new_isa: Annotated[str, Field(max_length=NAME_LIMIT)] = ""
    unit: Annotated[str, AllowedTexts(FileUnit)] = FileUnit.CYCLES.value
    names: int | None = None
    rejects: list[int] | None = None
    microarchitecture: Annotated[str, Field(max_length=40)] | None = None
    taken: dict[SchemeName, SchemeName] | None = None
    broken: Annotated[str, AllowedTexts((STOP, LEAVE_OUT))] | None = None

    def check(self) -> None:
        """Validates references to rows. Raises `ConfigError` or `UnknownNameError`."""
        if self.taken and self.new_isa:
            raise ConfigError("taken: a new instruction set has all names of its file: omit it")
        if self.isa:
            by_name(ISA, self.isa)
        if self.isa and self.new_isa:
            raise ConfigError("isa and new_isa exclude each other")
        for field, pk in self.side_files():
            if not Upload.objects.filter(pk=pk).exists():
                raise ConfigError(f"{field}: there is no uploaded file with the id {pk!r}")

    def side_files(self) -> list[tuple[str, int]]:
        """(field, id) of the accompanying uploads."""
        names = [("names", self.names)] if self.names else []
        return [*names, *(("rejects", pk) for pk in self.rejects or ())]


class ReadConfig(FileChoices):
    """Configuration of a preview; see `FileChoices`.

    `unit`: "" to guess it. `names`: 0 for none, by default the newest waiting list; `rejects`: by default all
    waiting lists. `take_nearest`: replace unknown names by the nearest schemes. `ports`: name of a mapping to
    check the numbers against. `options`: for formats of other apps.
    """

    noun = "a preview of a file"
    unit: Annotated[str, AllowedTexts((GUESSED, *FileUnit))] = GUESSED
    take_nearest: bool = False
    ports: str = ""
    options: dict[str, JsonValue] = {}


class ReadJob(Job):
    def check(self, config: Json) -> Json:
        """The complete description; raises `ConfigError` or `UnknownNameError`."""
        request = ReadConfig.read(config)
        request.check()
        free_upload(request.upload)
        if request.ports:
            by_name(PortMapping, request.ports)
        return request.as_json()

    def default_name(self, config: Json) -> str:
        return result_name(file_name(config["upload"]), "preview")

    def submitted(self, run: Run) -> None:
        """Makes this the file's current preview; deletes finished earlier ones."""
        uploads = Upload.objects.filter(pk=run.config["upload"])
        Run.objects.filter(kind="read", upload_read__in=uploads, state__in=Run.FINAL).delete()
        uploads.update(reading=run, preview=None)

    def work(self, task: Task) -> Store:
        """Parses the file. Raises `JobError` or `ExchangeError` if there is nothing to preview."""
        request = ReadConfig.from_stored(task.run.config)
        upload = _upload(request.upload, "the uploaded file has been deleted")
        other = importer_of_file(upload.open())
        if other is not None:
            content = other.read(upload.open(), upload.file_name, request.options)
            return partial(_save_preview, task.run, upload, {"page": other.preview, "seen": content}, None)
        reading = read_upload(upload, request.unit, request.microarchitecture or "")
        task.reporter.pulse()
        lists = _side_files(reading)
        request = request.model_copy(update=_selected_lists(request, lists))
        preview = preview_as(reading, request, take_nearest=request.take_nearest)
        ports = load_model(by_name(PortMapping, request.ports)) if request.ports else None
        fields = {**preview_json(preview, ports), **lists, "names": request.names, "rejects": request.rejects}
        return partial(
            _save_preview,
            task.run,
            upload,
            {**fields, "import": _import_config(request, preview)},
            pack(reading),
        )


def read_upload(upload: Upload, unit: str, microarchitecture: str = "", parse: Parse = read) -> ParsedFile:
    """The parsed file, from an earlier run if it had the same options. `unit`: "" to guess it."""
    if upload.parsed is not None:
        earlier = unpack(bytes(upload.parsed))
        same_unit = earlier.guessed if not unit else earlier.document.facts.get("unit", unit) == unit
        if same_unit and earlier.part == microarchitecture:
            return earlier
    file_unit = FileUnit(unit) if unit else None
    return parse(upload.content, upload.file_name, file_unit, microarchitecture)


def preview_as(
    reading: ParsedFile,
    choices: FileChoices,
    *,
    evidence: Sequence[ExperimentSet] = (),
    take_nearest: bool = False,
) -> Preview:
    """The preview of a parsed file with the chosen options.

    Raises `ExchangeError` for invalid choices, and `JobError` if an accompanying file was deleted.
    """
    return preview_of(
        reading,
        isa=by_name(ISA, choices.isa) if choices.isa else None,
        new_isa_name=choices.new_isa,
        names=_side_file(choices.names, name_list_of) if choices.names else None,
        rejects=[_side_file(pk, rejects_of) for pk in choices.rejects or ()],
        evidence=evidence,
        substitutes=choices.taken,
        take_nearest=take_nearest,
        leave_out=choices.broken == LEAVE_OUT,
    )


def _upload(pk: int, missing: str) -> Upload:
    upload = Upload.objects.filter(pk=pk).first()
    if upload is None:
        raise JobError(missing)
    return upload


def _side_file(pk: int, read_it: Callable[[bytes, str], Value]) -> Value:
    upload = _upload(pk, "an accompanying file was deleted")
    return read_it(upload.content, upload.file_name)


def outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: outcome} of previews that wait for confirmation (one query)."""
    waiting = waiting_uploads().filter(reading__in=runs, preview__isnull=False)
    return {
        upload.reading_id: RunOutcome("Awaiting confirmation", reverse("upload-preview", args=[upload.pk]))
        for upload in waiting.only("reading")
        if upload.reading_id is not None
    }


def _import_config(request: ReadConfig, upload: Preview) -> Json:
    """The configuration of an import that equals the preview, except for the name."""
    facts = upload.parsed.facts
    fields = {
        "isa": upload.isa.name if upload.isa else "",
        "new_isa": upload.new_isa,
        "unit": facts.get("unit", FileUnit.CYCLES.value),
        "names": request.names or None,
        "rejects": request.rejects or None,
        "microarchitecture": upload.microarchitecture or None,
        "taken": dict(upload.substitutes) or None,
        "broken": LEAVE_OUT if upload.leave_out else None,
    }
    return {field: value for field, value in fields.items() if value is not None}


_NAMED = "palmed-mapping"
_REJECTED = ("explained-mapping", "pmevo-mapping")
"""Formats that can have accompanying lists of names, or of rejected schemes."""


def _side_files(reading: ParsedFile) -> Json:
    """Waiting lists that can accompany the file, as {id, name}: newest names, oldest rejects first."""
    key = "" if reading.format is None else reading.format.key
    return {
        "name_lists": _readable_by(name_list_of)[::-1] if key == _NAMED else [],
        "reject_lists": _readable_by(rejects_of) if key in _REJECTED else [],
    }


def _selected_lists(request: ReadConfig, lists: Json) -> Json:
    """The selected lists; by default the newest names and all rejects."""
    names, rejects = ([upload["id"] for upload in lists[field]] for field in ("name_lists", "reject_lists"))
    return {
        "names": next(iter(names), 0) if request.names is None else request.names,
        "rejects": rejects if request.rejects is None else request.rejects,
    }


def _readable_by(read: Callable[[bytes, str], object]) -> list[Json]:
    """Small waiting uploads that `read` can parse, oldest first."""
    uploads: list[Json] = []
    waiting: QuerySet[Any] = waiting_uploads().defer(None).defer("parsed")
    for upload in waiting.filter(size__lte=SIDE_FILE_SIZE):
        with suppress(ExchangeError):
            read(upload.content, upload.file_name)
            uploads.append({"id": upload.pk, "name": upload.file_name})
    return uploads


def _save_preview(
    run: Run, upload: Upload, preview: Json, parsed: bytes | None
) -> tuple[Json, Sequence[Event]]:
    """Stores the preview, unless a newer one was started or the file was deleted meanwhile."""
    Upload.objects.filter(pk=upload.pk, reading=run).update(preview=preview, parsed=parsed)
    result: Json = {"upload": upload.pk, "name": upload.file_name}
    return result, [ResultStored(result)]


class ImportConfig(FileChoices):
    """Configuration of an import. Options of parsing: see `FileChoices`. `name` of the result, "" for the
    proposed one.

    `evidence`: names of experiment sets of the runs behind the file; `others`: further microarchitectures to
    import, under their proposed names; `core`: the core that was measured, by its documented name. Optional
    fields without a value are absent.
    """

    noun = "an import"
    name: str = ""
    note: str = ""
    evidence: list[str] | None = None
    others: list[str] | None = None
    core: Annotated[str, AllowedTexts(TOOL_NAMES)] | None = None


class ImportJob(Job):
    def check(self, config: Json) -> Json:
        """The complete description; raises `ConfigError` or `UnknownNameError`."""
        request = ImportConfig.read(config)
        request.check()
        if request.new_isa and request.others:
            raise ConfigError(
                "others need an existing instruction set: import the first one alone, which creates it"
            )
        free_upload(request.upload)
        for name in request.evidence or ():
            by_name(ExperimentSet, name)
        return request.model_dump(exclude_none=True)

    def default_name(self, config: Json) -> str:
        return result_name(file_name(config["upload"]), "import")

    def submitted(self, run: Run) -> None:
        """Reserves the upload for this run. Raises `ConfigError` if another run imports it."""
        claim_upload(run)

    def work(self, task: Task) -> Store:
        """Parses the file; it is stored when the run finishes. Raises `JobError` with its problems."""
        request = ImportConfig.from_stored(task.run.config)
        upload = _upload(request.upload, "the uploaded file has been deleted")
        if isinstance(importer_of_file(upload.open()), RunArchives):
            return _import_archive(task, upload)
        labels = [f"Read {upload.file_name}", "Store all of it"]
        task.reporter.emit(PhaseStarted("read", 1, labels))
        main_part = _preview_or_fail(request, upload, request.microarchitecture or "")
        further_parts = [_preview_or_fail(request, upload, other) for other in request.others or ()]
        task.reporter.pulse()
        task.reporter.emit(Log("info", _summary_line(main_part)))
        for part in (main_part, *further_parts):
            for line in doubt_lines(part.parsed):
                task.reporter.emit(Log("warning", line[:1000]))
        task.reporter.emit(PhaseStarted("store", 2, labels))
        for part in (main_part, *further_parts):
            _store_ahead(task, part)
        return partial(_store, task, main_part, further_parts, upload)


def _preview_or_fail(request: ImportConfig, upload: Upload, microarchitecture: str) -> Preview:
    """The file, parsed as configured. Raises `JobError` with its problems."""
    reading = read_upload(upload, request.unit, microarchitecture)
    evidence = [by_name(ExperimentSet, name) for name in request.evidence or ()]
    upload_preview = preview_as(reading, request, evidence=evidence)
    upload_preview = replace(upload_preview, core=request.core or upload_preview.core)
    if not upload_preview.acceptable:
        raise JobError("\n".join(["nothing was imported", *upload_preview.parsed.lines()]))
    return upload_preview


def _store_ahead(task: Task, upload: Preview) -> None:
    """Stores rows that are invisible until the set exists, and reports progress."""
    if upload.isa is None:
        return
    total = len(upload.parsed.measured)
    start = time.monotonic()

    def on_progress(done: int) -> None:
        rate = done / max(time.monotonic() - start, 1e-3)
        seconds_left = (total - done) / rate
        task.reporter.emit(Progress("store", done, total, round(rate), "experiments", seconds_left))
        task.reporter.pulse()

    store_ahead(upload.isa, upload.parsed.measured, on_progress)


def _summary_line(upload: Preview) -> str:
    parsed = upload.parsed
    rows = len(parsed.measured)
    remarks = [f"{rows:,} experiments read" if rows else f"{len(parsed.schemes):,} schemes read"]
    if upload.leave_out and parsed.broken:
        remarks.append(f"{parsed.broken:,} rows with problems skipped, the first: {parsed.lines()[0]}")
    if upload.substitutes:
        remarks.append(f"{len(upload.substitutes):,} unknown names replaced by schemes")
    return "; ".join(remarks)[:1000]


def _store(
    task: Task, main_part: Preview, further_parts: Sequence[Preview], upload: Upload
) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    note = task.run.config["note"]
    imported = commit(main_part, task.run.config["name"] or main_part.name, note=note, run=task.run)
    rows = [commit(part, part.name, note=note) for part in further_parts]
    side_files = ImportConfig.from_stored(task.run.config).side_files()
    Upload.objects.filter(pk__in=[pk for _, pk in side_files]).delete()
    kind = next(kind for kind, model in MODELS.items() if isinstance(imported.row, model))
    result: Json = {kind: imported.row.pk, "name": imported.row.name, "rows": imported.rows}
    lines = [f"{imported.rows} rows imported", *(f"{part.row.name}: {part.rows} rows" for part in rows)]
    logs: list[Event] = [Log("info", text) for text in lines]
    return result, [*logs, ResultStored(result)]


def _import_archive(task: Task, upload: Upload) -> Store:
    """Parses the zip; it is stored when the run finishes. Raises `JobError` with its problems."""
    try:
        archive = read_archive(upload.content)
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    return partial(_store_archive, task, archive, upload)


def _store_archive(task: Task, archive: RunArchive, upload: Upload) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    config, user = task.run.config, task.run.created_by
    try:
        run = store_archive(archive, upload.file_name, name=config["name"], note=config["note"], user=user)
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    result: Json = {"imported_run": run.pk, "name": run.name, "rows": archive.rows}
    text = f"run {run.name!r} with {len(archive.events)} events and {archive.rows} measurements"
    return result, [Log("info", text), ResultStored(result)]


JOBS = {"read": ReadJob, "import": ImportJob}
