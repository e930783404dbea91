"""A run from elsewhere, out of its zip: stored as the record that it was, with all that it brought along.

Nothing is done again. What its description and result name is renumbered to the rows made here; machines
become rows that stand for published measurements, since nobody here can ask them.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from inference.core.errors import InvalidInputError
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.features.blocks.job import BlockConfig, read_blocks, read_options
from inference.features.inferring.algorithms import ALGORITHMS
from inference.features.inferring.request import (
    InferConfig,
    read_held_out,
    read_known,
    read_noise,
    read_schemes,
    source_kind,
)
from inference.features.measure.job import PLANS, MeasureConfig
from inference.features.model_check.request import CheckConfig
from inference.formats.importing import taken_in
from inference.formats.run_archive.documents import EventTold
from inference.formats.run_archive.parts import first_flaw
from inference.formats.run_archive.reading import Archive, is_archive, read_archive
from inference.formats.run_archive.references import Numbers, renumbered, renumbered_result
from inference.formats.run_archive.storing import Storing
from inference.formats.run_archive.writing import write_archive
from inference.models import Run, RunEvent
from inference.runs.errors import ConfigError
from inference.runs.leases import versions
from inference.storage.errors import ExchangeError
from inference.storage.names import by_name, free_name
from inference.storage.rows import BATCH


@transaction.atomic
def store_archive(
    archive: Archive, file_name: str, *, name: str = "", note: str = "", user: Any = None
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


def _origin(archive: Archive, file_name: str) -> str:
    manifest = archive.manifest
    did = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    return f"Imported from {file_name}, written by {manifest.made_by}. Done with {did or 'unknown versions'}."


def _store_events(run: Run, events: tuple[EventTold, ...], numbers: Numbers) -> None:
    rows = [
        RunEvent(
            run=run,
            seq=event.seq,
            kind=event.kind,
            payload=renumbered_result(event.payload, numbers) if event.kind == "result" else event.payload,
        )
        for event in events
    ]
    made = RunEvent.objects.bulk_create(rows, batch_size=BATCH)
    for row, event in zip(made, events, strict=True):
        row.at = event.at  # creating says now
    RunEvent.objects.bulk_update(made, ["at"], batch_size=500)


# Descriptions of runs from elsewhere: checked against what the pages of such runs show, and made complete.
#
# Their rows may be gone, and their machines cannot be asked: less is wanted than to start such a run here.


class _Rows(BaseModel):
    """What descriptions name rows by; they may have more."""

    model_config = ConfigDict(extra="allow")

    mapping: int | None = None
    resource_mapping: int | None = None
    experiment_set: int | None = None


class _Evaluation(_Rows):
    experiment_set: int
    unit: Unit


_SHAPES: dict[str, Any] = {
    "infer": InferConfig,
    "measure": MeasureConfig,
    "check-model": CheckConfig,
    "block": BlockConfig,
    "import": _Rows,
    "evaluate": _Evaluation,
}


_SOURCES: dict[str, Any] = {
    "datasets": Annotated[list[int], Field(min_length=1)],
    "machine": int,
    "simulate": int,
}
"""Numbers of rows."""


def description_of(kind: str, config: Json) -> Json:
    """The complete description. Raises `ExchangeError` for one that no page of such a run could show."""
    if kind not in _SHAPES:
        raise ExchangeError(f"run.json: runs of the kind {kind!r} are not imported; {', '.join(_SHAPES)} are")
    value = _read(_SHAPES[kind], config, "run.config")
    try:
        if isinstance(value, InferConfig):
            return _inference(value)
        if isinstance(value, MeasureConfig) and value.plan not in PLANS:
            raise ConfigError(f"plan must be one of {', '.join(PLANS)}, not {value.plan!r}")
        if isinstance(value, MeasureConfig | CheckConfig):
            read_schemes(value.schemes)
        if isinstance(value, BlockConfig):
            options = read_options(value.options)
            return value.as_json() | {
                "blocks": read_blocks(value.blocks, options),
                "options": options.as_json(),
            }
    except (ConfigError, InvalidInputError) as error:
        raise ExchangeError(f"run.json, run.config: {error}") from error
    return config if isinstance(value, BaseModel) else dict(value.as_json())


def _inference(value: InferConfig) -> Json:
    if value.algorithm not in ALGORITHMS:
        raise ConfigError(f"there is no algorithm {value.algorithm!r}; there are {', '.join(ALGORITHMS)}")
    algorithm = ALGORITHMS[value.algorithm]
    settings = algorithm.settings({**value.settings, "ports": value.ports})
    ports = settings.pop("ports")
    read_schemes(value.schemes)
    read_held_out(value.held_out)
    return value.as_json() | {
        "source": _source(value.source),
        "settings": settings,
        "ports": ports,
        "known": read_known(value.algorithm, value.known),
    }


def _source(given: Json) -> Json:
    kind = source_kind(given)
    _read(_SOURCES[kind], given[kind], f"run.config.source.{kind}")
    return {**given, **read_noise(given)} if kind == "simulate" else given


def _read(shape: Any, given: Any, place: str) -> Any:
    """As JSON: what is no number there is none, whatever it looks like."""
    try:
        return _adapter(shape).validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        raise ExchangeError(f"run.json, {first_flaw(error, place)}") from error


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


# The zip of a run among the formats that commands and pages take and write.


def write_run(name: str, file: BinaryIO) -> None:
    """Write the zip of the run of this name, for `manage.py export`. Raises `ExchangeError`."""
    file.write(write_archive(by_name(Run, name), versions()))


class RunArchives:
    """See `inference.formats.other_formats.Importer`."""

    titles = "run (own zip)"
    preview = "upload-run"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Nothing for these files alone."""

    def reads_path(self, path: Path) -> bool:
        """Whether it is the zip of a run."""
        try:
            return path.suffix == ".zip" and path.is_file() and is_archive(path.read_bytes())
        except OSError:
            return False  # the command says why

    def reads_content(self, content: bytes) -> bool:
        """Whether an uploaded file is one."""
        return is_archive(content)

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
