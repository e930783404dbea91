"""Archives of runs as zips: written from a finished run, and imported as a run with its data and results.

An import executes nothing. Row numbers in the configuration and result are replaced by those of the imported
rows. Machines become machines of published measurements, because this site cannot measure on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from django.db import transaction
from pydantic import BaseModel, ConfigDict

from inference.core.errors import InvalidInputError
from inference.core.events import ResultStored
from inference.core.experiment import Unit
from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import archived_kinds, presentation_of
from inference.formats.archived_parts import read_shape
from inference.formats.import_formats import bytes_to_store
from inference.formats.other_formats import Importer
from inference.formats.problems import ExchangeError
from inference.formats.run_archive import ArchivedEvent, Numbers, renumbered, renumbered_result, set_file
from inference.formats.run_archive_reading import RunArchive, archive_summary, is_archive, read_archive
from inference.models import Run, RunEvent
from inference.runs.errors import ConfigError
from inference.runs.leases import versions
from inference.storage.names import by_name, free_name
from inference.storage.rows import BATCH
from inference.storage.run_archive_storing import ArchiveImport
from inference.storage.run_archive_writing import write_archive


@transaction.atomic
def store_archive(
    archive: RunArchive, file_name: str, *, name: str = "", note: str = "", user: Any = None
) -> Run:
    """Stores the run with everything in its zip, all or nothing.

    Without `name`, the run keeps its own, with a number appended if that is taken. Raises `ExchangeError`.
    """
    archived = archive.manifest.run
    config = complete_config(archived.kind, archived.config)
    source = f"{file_name}, run (zip)"[:300]
    run = Run.objects.create(
        name=free_name(Run, (name or archived.name).strip()),
        note="\n\n".join(filter(None, (note or archived.note, _origin(archive, file_name)))),
        kind=archived.kind,
        state=archived.state,
        error=archived.error,
        created_by=user,
        started=archived.started,
        finished=archived.finished,
        busy_seconds=archived.busy_seconds,
        next_seq=archive.events[-1].seq + 1 if archive.events else 1,
    )
    storing = ArchiveImport(archive, run, source)
    storing.store()
    run.config = renumbered(config, storing.numbers)
    run.result = renumbered_result(archived.result, storing.numbers)
    run.created = archived.created
    run.save(update_fields=["config", "result", "created"])
    _store_events(run, archive.events, storing.numbers)
    return run


def _origin(archive: RunArchive, file_name: str) -> str:
    manifest = archive.manifest
    tools = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    return (
        f"Imported from {file_name}, written by {manifest.made_by}. Done with {tools or 'unknown versions'}."
    )


def _store_events(run: Run, events: tuple[ArchivedEvent, ...], numbers: Numbers) -> None:
    rows = [
        RunEvent(
            run=run,
            seq=event.seq,
            kind=event.kind,
            payload=renumbered_result(event.payload, numbers)
            if event.kind == ResultStored.kind
            else event.payload,
        )
        for event in events
    ]
    stored = RunEvent.objects.bulk_create(rows, batch_size=BATCH)
    for row, event in zip(stored, events, strict=True):
        row.at = event.at  # auto_now_add sets the current time on creation
    RunEvent.objects.bulk_update(stored, ["at"], batch_size=500)


class _Rows(BaseModel):
    """The fields of a configuration that refer to rows; it may have others."""

    model_config = ConfigDict(extra="allow")

    mapping: int | None = None
    resource_mapping: int | None = None
    experiment_set: int | None = None


class _Evaluation(_Rows):
    experiment_set: int
    unit: Unit


def archived_rows(config: Json) -> Json:
    """Validates only references to rows. Raises `ExchangeError`."""
    read_shape(_Rows, config, "run.json, run.config", strict=True)
    return config


def archived_evaluation(config: Json) -> Json:
    """Validates an evaluation's configuration. Raises `ExchangeError`."""
    read_shape(_Evaluation, config, "run.json, run.config", strict=True)
    return config


def complete_config(name: str, config: Json) -> Json:
    """The configuration completed by its kind's reader. Raises `ExchangeError` if pages could not show it."""
    try:
        return _reader_of(name)(config)
    except (ConfigError, InvalidInputError) as error:
        raise ExchangeError(f"run.json, run.config: {error}") from error


def _reader_of(kind: str) -> Callable[[Json], Json]:
    """The function that validates a kind's configurations. Raises `ExchangeError` for kinds that are not
    imported.
    """
    archived = presentation_of(kind).archived
    if archived is None:
        kinds = ", ".join(archived_kinds())
        raise ExchangeError(f"runs of the kind {kind!r} have no archive that imports; {kinds} have")
    return archived


def archive_of(run: Run) -> bytes:
    """The zip of a run. Raises `ExchangeError` if it has not ended or its kind is not archived."""
    _reader_of(run.kind)
    return write_archive(run, versions())


def write_run(name: str, file: BinaryIO) -> None:
    """Write the zip of the run of this name, for `manage.py export`. Raises `ExchangeError`."""
    file.write(archive_of(by_name(Run, name)))


class RunArchives(Importer):
    titles = "run (own zip)"
    preview = "upload-run"

    def reads(self, file: BinaryIO) -> bool:
        return is_archive(file.read())

    def read(self, file: BinaryIO, file_name: str, options: Json) -> Json:
        """A preview of the zip; its import reads the remaining parts.

        Raises `ExchangeError` if the zip is damaged or runs of its kind are not imported.
        """
        del file_name, options
        preview = archive_summary(file.read())
        manifest = preview.manifest
        _reader_of(manifest.run.kind)
        return {
            "name": preview.name,
            "kind": manifest.run.kind,
            "state": manifest.run.state,
            "seed": manifest.run.seed,
            "made_by": manifest.made_by,
            "events": preview.events,
            "rows": preview.rows,
            "sets": [
                {"name": row.name, "own": row.own, "count": preview.measurements[set_file(row.id)]}
                for row in manifest.sets
            ],
            "mappings": [{"name": row.name, "own": row.own} for row in manifest.mappings],
            "resource_mappings": [row.name for row in manifest.resource_mappings],
            "machines": [
                {"name": machine.name, "cpu": machine.cpu} for machine in manifest.machines.values()
            ],
        }

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Imports the zip, all or nothing. Raises `ExchangeError`."""
        try:
            with path.open("rb") as file:
                content = bytes_to_store(file, path.name)
        except OSError as error:
            raise ExchangeError(f"{path} cannot be read: {error.strerror}") from error
        archive = read_archive(content)
        run = store_archive(archive, path.name, name=options["name"], note=options["note"])
        manifest = archive.manifest
        lines = [f"run {run.name!r}: {len(archive.events)} events, {archive.rows} measurements"]
        lines += [
            f"experiment set {archived.description.name!r}: {len(archived.measured)} measurements"
            for archived in archive.sets
        ]
        lines += [f"port mapping {row.name!r}" for row in manifest.mappings]
        return [*lines, *(f"resource mapping {row.name!r}" for row in manifest.resource_mappings)]
