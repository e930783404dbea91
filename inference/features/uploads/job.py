"""Import runs: an uploaded file becomes a set, a mapping, or a run from elsewhere, all of it or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field

from inference.core.events import Progress
from inference.core.protocols import Json
from inference.features.runs.archive import store_archive
from inference.features.uploads.query import claim_upload, discard_upload, free_upload
from inference.formats.file_units import FileUnit
from inference.formats.importing import Preview, commit, name_list_of, preview, rejects_of
from inference.formats.run_archive.reading import RunArchive, is_archive, read_archive
from inference.models import ISA, ExperimentSet, PortMapping, ResourceMapping, Run, Upload
from inference.runs.errors import ConfigError, JobError
from inference.runs.journal import Entry
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest, chosen
from inference.storage.errors import ExchangeError
from inference.storage.names import by_name
from inference.storage.rows import store_ahead

STOP, LEAVE_OUT = "stop", "leave out"
"""What becomes of a file with rows that have problems."""
Value = TypeVar("Value")
_KINDS = {
    ExperimentSet: "experiment_set",
    PortMapping: "mapping",
    ResourceMapping: "resource_mapping",
}


class ImportConfig(RunRequest):
    """`upload`: id of the file. `name`: of what it becomes ("": the one the file proposes).

    `isa`: name of its instruction set, or `new_isa`: the name of one to found (neither: the likely one).
    `unit`: of CSV rows that name none. `names`: id of an upload with scheme names for the instructions of a
    Palmed file; `rejects`: ids of uploads with what the runs rejected whose result the file is, `evidence`:
    names of experiment sets of those runs; `microarchitecture`: the one to read of a file that has several,
    `others`: those to import besides, under names of their own; `taken`: {unknown name: scheme that it is
    taken for}; `broken`: "leave out" where rows with problems are left out, "stop" where they keep all from
    being imported. Those after `unit` are absent where they were not given.
    """

    noun = "an import"
    upload: int
    name: str = ""
    note: str = ""
    isa: str = ""
    new_isa: str = ""
    unit: Annotated[str, AfterValidator(partial(chosen, tuple(FileUnit)))] = FileUnit.CYCLES.value
    names: int | None = None
    rejects: list[int] | None = None
    evidence: list[str] | None = None
    microarchitecture: str | None = None
    others: list[str] | None = None
    taken: dict[Annotated[str, Field(max_length=500)], Annotated[str, Field(max_length=500)]] | None = None
    broken: Annotated[str, AfterValidator(partial(chosen, (STOP, LEAVE_OUT)))] | None = None


class ImportJob:
    """Runs of kind `import`; see `ImportConfig`."""

    def check(self, config: Json) -> Json:
        """The complete description; raises `ConfigError` or `UnknownNameError`."""
        asked = ImportConfig.read(config)
        complete = asked.model_dump(exclude_none=True)
        if asked.taken and asked.new_isa:
            raise ConfigError("taken: a new instruction set knows all names of its file")
        if asked.isa:
            by_name(ISA, asked.isa)
        if asked.isa and asked.new_isa:
            raise ConfigError("isa and new_isa exclude each other")
        if asked.new_isa and asked.others:
            raise ConfigError(
                "others go to an instruction set that is there: import one first, which founds it"
            )
        free_upload(asked.upload)
        for field, pk in _beside(complete):
            if not Upload.objects.filter(pk=pk).exists():
                raise ConfigError(f"{field}: there is no uploaded file with the id {pk!r}")
        for name in asked.evidence or ():
            by_name(ExperimentSet, name)
        return complete

    def submitted(self, run: Run) -> None:
        """The upload shows which run imports it, and no other does. Raises `ConfigError` where one does."""
        claim_upload(run)

    def work(self, task: Task) -> Store:
        """Parse the file, to be stored when the run is finished. Raises `JobError` with the problems."""
        config = task.run.config
        upload = Upload.objects.filter(pk=config["upload"]).first()
        if upload is None:
            raise JobError("the uploaded file has been deleted")
        if is_archive(bytes(upload.content)):
            return import_archive(task, upload, discard_upload)
        labels = [f"Read {upload.file_name}", "Store all of it"]
        task.reporter.tell("phase", {"name": "read", "index": 1, "labels": labels})
        seen = _seen(config, upload, config.get("microarchitecture", ""))
        besides = [_seen(config, upload, other) for other in config.get("others", ())]
        task.reporter.pulse()
        task.reporter.tell("log", {"level": "info", "text": _told_of(seen)})
        task.reporter.tell("phase", {"name": "store", "index": 2, "labels": labels})
        for each in (seen, *besides):
            _store_ahead(task, each)
        return partial(_store, task, seen, besides, upload)


def _seen(config: Json, upload: Upload, microarchitecture: str) -> Preview:
    """The file as it shall be read; raises `JobError` with its problems."""
    try:
        seen = preview(
            bytes(upload.content),
            upload.file_name,
            isa=by_name(ISA, config["isa"]) if config["isa"] else None,
            founding=config["new_isa"],
            unit=FileUnit(config["unit"]),
            names=_side_file(config["names"], name_list_of) if "names" in config else None,
            rejects=[_side_file(pk, rejects_of) for pk in config.get("rejects", ())],
            evidence=[by_name(ExperimentSet, name) for name in config.get("evidence", ())],
            microarchitecture=microarchitecture,
            taken=config.get("taken"),
            leave_out=config.get("broken") == LEAVE_OUT,
        )
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
        task.reporter.tell(
            "progress",
            Progress("store", done, total, round(rate), "experiments", (total - done) / rate).payload(),
        )
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


def _beside(config: Json) -> list[tuple[str, int]]:
    """(field, id) of the uploads that come beside the file."""
    names = [("names", config["names"])] if "names" in config else []
    return [*names, *(("rejects", pk) for pk in config.get("rejects", ()))]


def _side_file(pk: int, read: Callable[[bytes, str], Value]) -> Value:
    """What an upload beside the file says."""
    upload = Upload.objects.filter(pk=pk).first()
    if upload is None:
        raise JobError("a file that was uploaded beside this one has been deleted")
    return read(bytes(upload.content), upload.file_name)


def _store(
    task: Task, seen: Preview, besides: Sequence[Preview], upload: Upload
) -> tuple[Json, Sequence[Entry]]:
    discard_upload(upload)
    note = task.run.config["note"]
    made = commit(seen, task.run.config["name"] or seen.name, note=note, run=task.run)
    others = [commit(each, each.name, note=note) for each in besides]
    Upload.objects.filter(pk__in=[pk for _, pk in _beside(task.run.config)]).delete()
    result: Json = {_KINDS[type(made.row)]: made.row.pk, "name": made.row.name, "rows": made.rows}
    told = [f"{made.rows} rows imported", *(f"{each.row.name}: {each.rows} rows" for each in others)]
    logs: list[Entry] = [("log", {"level": "info", "text": text}) for text in told]
    return result, [*logs, ("result", result)]


# Importing the zip of a run: the part of an import run that is about those files.


def import_archive(task: Task, upload: Upload, discard: Callable[[Upload], None]) -> Store:
    """Read the zip, to be stored when the run is finished. Raises `JobError` with what is wrong with it."""
    try:
        archive = read_archive(bytes(upload.content))
    except ExchangeError as error:
        raise JobError(f"nothing was imported: {error}") from error
    return partial(_store_archive, task, archive, upload, discard)


def _store_archive(
    task: Task, archive: RunArchive, upload: Upload, discard: Callable[[Upload], None]
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
