"""Runs of kind `read`: an uploaded file is read, and waits with its preview to be confirmed or discarded.

How a file is read, a run of kind `import` is asked in the same words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.urls import reverse
from pydantic import Field, JsonValue

from inference.core.event import Event
from inference.core.events import ResultStored
from inference.core.protocols import Json
from inference.features.library.uploads.preview import as_json
from inference.features.library.uploads.query import SIDE_FILE_SIZE, free_upload, keep_all, waiting_uploads
from inference.features.running.runs.archive import RunArchives
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.errors import ExchangeError
from inference.formats.file_units import FileUnit
from inference.formats.import_formats import ParsedFile, pack, read, unpack
from inference.formats.other_formats import importer_of_content
from inference.formats.run_archive.reading import glimpse_of
from inference.formats.side_files import name_list_of, rejects_of
from inference.models import ISA, ExperimentSet, PortMapping, Run, Upload
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.lifecycle import submit, unused_name
from inference.runs.request import OneOf, RunRequest
from inference.storage.importing import Preview, preview_of
from inference.storage.names import NAME_LIMIT, by_name
from inference.storage.resource_mappings import load_model
from inference.web.reading_process import READING_SECONDS, read_apart

KIND = "read"
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
        Run.objects.filter(kind=KIND, upload_read__in=mine, state__in=Run.FINAL).delete()
        mine.update(reading=run, preview=None)

    def work(self, task: Task) -> Store:
        """Read the file. Raises `JobError` or `ExchangeError` where there is nothing to show of it."""
        asked = ReadConfig.stored(task.run.config)
        upload = Upload.objects.filter(pk=asked.upload).first()
        if upload is None:
            raise JobError("the uploaded file has been deleted")
        other = importer_of_content(bytes(upload.content))
        if other is not None:
            seen = other.read(bytes(upload.content), upload.file_name, asked.options)
            return partial(_store, task.run, upload, {"page": other.preview, "seen": seen}, None)
        reading = read_upload(upload, asked.unit, asked.microarchitecture or "")
        task.reporter.pulse()
        offered = _side_files(reading)
        asked = asked.model_copy(update=_beside(asked, offered))
        preview = preview_as(reading, asked, take_nearest=asked.take_nearest)
        ports = load_model(by_name(PortMapping, asked.ports)) if asked.ports else None
        shown = {**as_json(preview, ports), **offered, "names": asked.names, "rejects": asked.rejects}
        return partial(_store, task.run, upload, {**shown, "import": _decided(asked, preview)}, pack(reading))


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


def _side_file(pk: int, read_it: Callable[[bytes, str], Value]) -> Value:
    """What an upload beside the file says."""
    upload = Upload.objects.filter(pk=pk).first()
    if upload is None:
        raise JobError("a file that was uploaded beside this one has been deleted")
    return read_it(bytes(upload.content), upload.file_name)


def receive(files: Sequence[UploadedFile[bytes]], user: Any) -> list[Upload]:
    """Store the files as `keep_all` does, and queue the reading of those that nobody has read.

    Raises what `keep_all` raises; a file that is kept is not lost where there is no room for another run.
    """
    kept = keep_all(files, user)
    for each in kept:
        if each.reading_id is None:
            start_reading(each, user)
    return kept


def start_reading(upload: Upload, user: Any, **choices: Any) -> Run:
    """Queue the reading of a file. Raises `RunsError`, and `UnknownNameError` for rows that there are not."""
    name = unused_name(f"Read {upload.file_name}"[: NAME_LIMIT - 10])
    return submit(KIND, {"upload": upload.pk, **choices}, name, user=user)


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


def _store(run: Run, upload: Upload, preview: Json, parsed: bytes | None) -> tuple[Json, Sequence[Event]]:
    """Keep what was found, unless the file is being read in another way or has gone meanwhile."""
    Upload.objects.filter(pk=upload.pk, reading=run).update(preview=preview, parsed=parsed)
    result: Json = {"upload": upload.pk, "name": upload.file_name}
    return result, [ResultStored(result)]


@dataclass(frozen=True)
class Recognition:
    """`run` and `rows`: name and number of measurements of a run's archive, "" and 0 for other files.

    `other`: the formats of another app that the file is one of, "" for none.
    """

    run: str = ""
    rows: int = 0
    other: str = ""


def recognised(content: bytes) -> Recognition:
    """What a file is. Raises `ExchangeError` for a damaged archive, and where that takes too long."""
    return Recognition(**json.loads(read_apart(_recognised, content)))


def parsed_apart(content: bytes, file_name: str, unit: FileUnit | None, wanted: str) -> ParsedFile:
    """As `parsing.read`. Raises `ExchangeError` where that takes too long."""
    options = {"file_name": file_name, "unit": unit and unit.value, "wanted": wanted}
    return unpack(read_apart(_parsed, content, seconds=READING_SECONDS, **options))


def _recognised(content: bytes) -> bytes:
    importer = importer_of_content(content)
    if isinstance(importer, RunArchives):
        glimpse = glimpse_of(content)
        recognition = Recognition(run=glimpse.name, rows=glimpse.rows)
    else:
        recognition = Recognition(other=importer.titles if importer else "")
    return json.dumps(asdict(recognition)).encode()


def _parsed(content: bytes, file_name: str, unit: str | None, wanted: str) -> bytes:
    return pack(read(content, file_name, FileUnit(unit) if unit else None, wanted))
