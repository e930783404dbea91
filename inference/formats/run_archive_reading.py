"""Reads archives of runs from untrusted sources: bounded, validated, and without writing to disk."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping
from inference.core.resources import ResourceMapping
from inference.formats import journal_events
from inference.formats.archived_parts import check_texts, first_flaw, load, read_shape
from inference.formats.file_trees import ZipTree
from inference.formats.parsing import AnyNames, Parsed, parse
from inference.formats.problems import ExchangeError
from inference.formats.run_archive import (
    EVENTS,
    RUN,
    ArchivedEvent,
    ArchivedMapping,
    ArchivedMeasurement,
    ArchivedResult,
    ArchivedSet,
    RunManifest,
    mapping_file,
    resource_mapping_file,
    set_file,
)
from inference.formats.source import SIZE_LIMIT

UNPACKED_LIMIT = 8 * SIZE_LIMIT
"""Bytes of all files together, unpacked: a small zip can expand to any size."""

RUN_LIMIT, LINE_LIMIT = SIZE_LIMIT // 2, SIZE_LIMIT // 4
"""Bytes of `run.json`, and of a line. `run.json` has 20 MiB where it describes ten thousand schemes."""

VALUE_LIMIT = 2_000_000
"""JSON values in `run.json` or in a line: short ones take twenty times their size in memory."""

EVENT_LIMIT, ROW_LIMIT = 200_000, 2_000_000
"""Lines of `events.jsonl`, and of a file with measurements."""

_MAGIC = b"PK\x03\x04"

Document = TypeVar("Document", bound=BaseModel)


@dataclass(frozen=True)
class MeasuredSet:
    """A set with its measurements; those of one experiment are in the order of their repeats."""

    description: ArchivedSet
    measured: tuple[Measured, ...]


@dataclass(frozen=True)
class RunArchive:
    """The content of an archive: the manifest, and the values of its other files by the archive's ids."""

    manifest: RunManifest
    events: tuple[ArchivedEvent, ...]
    sets: tuple[MeasuredSet, ...]
    mappings: dict[int, PortMapping] = field(default_factory=dict)
    resource_mappings: dict[int, ResourceMapping] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(len(archived.measured) for archived in self.sets)


@dataclass(frozen=True)
class ArchiveSummary:
    """The preview of an archive: the manifest, and the number of lines of its other files.

    `measurements`: {path of a set's file: lines}.
    """

    manifest: RunManifest
    events: int
    measurements: dict[str, int]

    @property
    def name(self) -> str:
        return self.manifest.run.name

    @property
    def rows(self) -> int:
        return sum(self.measurements.values())


def is_archive(content: bytes) -> bool:
    """Whether a file is a zip archive with `run.json`, valid or not."""
    try:
        return content.startswith(_MAGIC) and RUN in _tree(content).names()
    except ExchangeError:
        return False


def read_archive(content: bytes) -> RunArchive:
    """Read and validate an archive.

    Raises `ExchangeError` with the file, the place in it, and what is expected.
    """
    tree = _tree(content)
    manifest = _manifest(tree)
    events = tuple(_event(line, place) for place, line in tree.lines(EVENTS, EVENT_LIMIT, LINE_LIMIT))
    numbers = [event.seq for event in events]
    if numbers != sorted(set(numbers)):
        raise ExchangeError(f"{EVENTS}: the numbers of events ascend, each occurs once")
    _check_replaced(events)
    return RunArchive(
        manifest,
        events,
        tuple(_set(tree, description) for description in manifest.sets),
        {description.id: _mapping(tree, description) for description in manifest.mappings},
        {description.id: _resources(tree, description) for description in manifest.resource_mappings},
    )


def archive_summary(content: bytes) -> ArchiveSummary:
    """Read the manifest and count the lines of the other files. Raises `ExchangeError`."""
    tree = _tree(content)
    manifest = _manifest(tree)
    limits = {set_file(row.id): ROW_LIMIT for row in manifest.sets} | {EVENTS: EVENT_LIMIT}
    lines = {name: sum(1 for _ in tree.lines(name, limit, LINE_LIMIT)) for name, limit in limits.items()}
    return ArchiveSummary(manifest, lines.pop(EVENTS), lines)


def _tree(content: bytes) -> ZipTree:
    return ZipTree(io.BytesIO(content), "the zip of the run", UNPACKED_LIMIT)


def _manifest(tree: ZipTree) -> RunManifest:
    manifest = _document(RunManifest, tree.read(RUN, RUN_LIMIT), RUN)
    read_shape(ArchivedResult, manifest.run.result, f"{RUN}, run.result")
    return manifest


def _document(shape: type[Document], content: bytes, place: str) -> Document:
    try:
        value = load(content, place, VALUE_LIMIT)
        check_texts(value, place)
    except ValueError as error:  # a `StrictJsonError`, or a text
        raise ExchangeError(str(error)) from error
    return cast("Document", read_shape(shape, value, place))


def _event(line: bytes, place: str) -> ArchivedEvent:
    event = _document(ArchivedEvent, line, place)
    try:
        journal_events.read(event.kind, event.payload, strict=True)
    except ValidationError as error:
        raise ExchangeError(first_flaw(error, f"{place}, payload of {event.kind!r}")) from error
    return event


def _check_replaced(events: Sequence[ArchivedEvent]) -> None:
    """Check that the newest event of a replaced kind has a payload, since pages show that one."""
    newest = {event.kind: event for event in events if event.kind in journal_events.replaced()}
    for event in newest.values():
        if not event.payload:
            raise ExchangeError(f"{EVENTS}, event {event.seq}: the last {event.kind!r} tells nothing")


def _set(tree: ZipTree, description: ArchivedSet) -> MeasuredSet:
    lines = tree.lines(set_file(description.id), ROW_LIMIT, LINE_LIMIT)
    rows = ((_document(ArchivedMeasurement, line, place), place) for place, line in lines)
    return MeasuredSet(description, tuple(_read_measurement(row, place) for row, place in rows))


def _read_measurement(row: ArchivedMeasurement, place: str) -> Measured:
    try:
        return Measured(
            experiment=Experiment.of(row.terms),
            cycles=row.cycles,
            state=MeasurementState(row.state),
            spread=row.spread,
            passes=row.passes,
            note=row.note,
            annotations=row.annotations,
            counters=row.counters,
        )
    except InvalidInputError as error:
        raise ExchangeError(f"{place}: {error}") from error


def _mapping(tree: ZipTree, description: ArchivedMapping) -> PortMapping:
    name = mapping_file(description.id)
    parsed = _parse_mapping(tree, name)
    if parsed.mapping is None:
        raise ExchangeError(f"{name} is no port mapping")
    return parsed.mapping


def _resources(tree: ZipTree, description: ArchivedMapping) -> ResourceMapping:
    name = resource_mapping_file(description.id)
    parsed = _parse_mapping(tree, name)
    if parsed.resources is None:
        raise ExchangeError(f"{name} is no resource mapping")
    return parsed.resources


def _parse_mapping(tree: ZipTree, name: str) -> Parsed:
    """Parse a mapping's file like an upload of it. Raises `ExchangeError` for its problems."""
    parsed = parse(tree.read(name), name, AnyNames())
    if parsed.problem_count:
        raise ExchangeError("\n".join(parsed.lines()))
    return parsed
