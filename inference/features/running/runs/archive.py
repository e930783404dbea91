"""A run as a zip: written, and one from elsewhere stored as the record that it was, with all that it has.

Nothing is done again. What its description and result name is renumbered to the rows made here; machines
become rows that stand for published measurements, since nobody here can ask them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from django.db import transaction
from pydantic import BaseModel, ConfigDict

from inference.core.errors import InvalidInputError
from inference.core.events import ResultStored
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import archived_kinds, presentation_of
from inference.formats.archived_parts import read_shape
from inference.formats.errors import ExchangeError
from inference.formats.import_formats import taken_in
from inference.formats.other_formats import Importer
from inference.formats.run_archive.documents import EventTold, set_file
from inference.formats.run_archive.reading import RunArchive, glimpse_of, is_archive, read_archive
from inference.formats.run_archive.references import Numbers, renumbered, renumbered_result
from inference.models import Run, RunEvent
from inference.runs.errors import ConfigError
from inference.runs.leases import versions
from inference.storage.names import by_name, free_name
from inference.storage.rows import BATCH
from inference.storage.run_archive_storing import Storing
from inference.storage.run_archive_writing import write_archive


@transaction.atomic
def store_archive(
    archive: RunArchive, file_name: str, *, name: str = "", note: str = "", user: Any = None
) -> Run:
    """The run as a row of its own with everything in its zip, all of it or nothing.

    Without a name it has its own, with a number behind it where that is taken. Raises `ExchangeError`.
    """
    told = archive.manifest.run
    config = description_of(told.kind, told.config)
    source = f"{file_name}, run (zip)"[:300]
    run = Run.objects.create(
        name=free_name(Run, (name or told.name).strip()),
        note="\n\n".join(filter(None, (note or told.note, _origin(archive, file_name)))),
        kind=told.kind,
        state=told.state,
        error=told.error,
        created_by=user,
        started=told.started,
        finished=told.finished,
        busy_seconds=told.busy_seconds,
        next_seq=archive.events[-1].seq + 1 if archive.events else 1,
    )
    storing = Storing(archive, run, source)
    storing.store()
    run.config = renumbered(config, storing.numbers)
    run.result = renumbered_result(told.result, storing.numbers)
    run.created = told.created
    run.save(update_fields=["config", "result", "created"])
    _store_events(run, archive.events, storing.numbers)
    return run


def _origin(archive: RunArchive, file_name: str) -> str:
    manifest = archive.manifest
    did = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    return f"Imported from {file_name}, written by {manifest.made_by}. Done with {did or 'unknown versions'}."


def _store_events(run: Run, events: tuple[EventTold, ...], numbers: Numbers) -> None:
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
    made = RunEvent.objects.bulk_create(rows, batch_size=BATCH)
    for row, event in zip(made, events, strict=True):
        row.at = event.at  # creating says now
    RunEvent.objects.bulk_update(made, ["at"], batch_size=500)


class _Rows(BaseModel):
    """What descriptions name rows by; they may have more."""

    model_config = ConfigDict(extra="allow")

    mapping: int | None = None
    resource_mapping: int | None = None
    experiment_set: int | None = None


class _Evaluation(_Rows):
    experiment_set: int
    unit: Unit


def archived_rows(config: Json) -> Json:
    """A description in which nothing matters but the rows that it names. Raises `ExchangeError`."""
    read_shape(_Rows, config, "run.json, run.config", strict=True)
    return config


def archived_evaluation(config: Json) -> Json:
    """The description of an evaluation. Raises `ExchangeError`."""
    read_shape(_Evaluation, config, "run.json, run.config", strict=True)
    return config


def description_of(name: str, config: Json) -> Json:
    """The complete description. Raises `ExchangeError` for one that no page of such a run could show."""
    try:
        return _reader_of(name)(config)
    except (ConfigError, InvalidInputError) as error:
        raise ExchangeError(f"run.json, run.config: {error}") from error


def _reader_of(kind: str) -> Callable[[Json], Json]:
    """What reads descriptions of a kind. Raises `ExchangeError` for a kind that is not imported."""
    archived = presentation_of(kind).archived
    if archived is None:
        kinds = ", ".join(archived_kinds())
        raise ExchangeError(f"runs of the kind {kind!r} have no archive that imports; {kinds} have")
    return archived


def archive_of(run: Run) -> bytes:
    """The zip of a run that has ended. Raises `ExchangeError` for one that has not, or does not import."""
    _reader_of(run.kind)
    return write_archive(run, versions())


def write_run(name: str, file: BinaryIO) -> None:
    """Write the zip of the run of this name, for `manage.py export`. Raises `ExchangeError`."""
    file.write(archive_of(by_name(Run, name)))


class RunArchives(Importer):
    titles = "run (own zip)"
    preview = "upload-run"

    def reads(self, file: BinaryIO) -> bool:
        """Whether it is the zip of a run."""
        return is_archive(file.read())

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """What is in the zip; its import reads the rest.

        Raises `ExchangeError` for one that is damaged, and of a kind of runs that is not imported.
        """
        del file_name, options
        seen = glimpse_of(content)
        told = seen.manifest
        _reader_of(told.run.kind)
        return {
            "name": seen.name,
            "kind": told.run.kind,
            "state": told.run.state,
            "seed": told.run.seed,
            "made_by": told.made_by,
            "events": seen.events,
            "rows": seen.rows,
            "sets": [
                {"name": row.name, "own": row.own, "count": seen.measurements[set_file(row.id)]}
                for row in told.sets
            ],
            "mappings": [{"name": each.name, "own": each.own} for each in told.mappings],
            "resource_mappings": [each.name for each in told.resource_mappings],
            "machines": [{"name": each.name, "cpu": each.cpu} for each in told.machines.values()],
        }

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """The run with everything in the zip, all or nothing. Raises `ExchangeError`."""
        try:
            with path.open("rb") as file:
                content = taken_in(file, path.name)
        except OSError as error:
            raise ExchangeError(f"{path} cannot be read: {error.strerror}") from error
        archive = read_archive(content)
        made = store_archive(archive, path.name, name=options["name"], note=options["note"])
        manifest = archive.manifest
        told = [f"run {made.name!r}: {len(archive.events)} events, {archive.rows} measurements"]
        told += [
            f"experiment set {each.told.name!r}: {len(each.measured)} measurements" for each in archive.sets
        ]
        told += [f"port mapping {each.name!r}" for each in manifest.mappings]
        return [*told, *(f"resource mapping {each.name!r}" for each in manifest.resource_mappings)]
