"""Reading the zip of a run, which may come from anywhere: bounded, checked, nothing written to disk."""

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
from inference.formats.archived_parts import (
    check_texts,
    first_flaw,
    load,
    read_shape,
)
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
"""Bytes that the files together may have: a small zip can hold endlessly many."""

RUN_LIMIT, LINE_LIMIT = SIZE_LIMIT // 2, SIZE_LIMIT // 4
"""Bytes of `run.json`, and of a line. The former has 20 MiB where ten thousand schemes are told of."""

VALUE_LIMIT = 2_000_000
"""Values in `run.json` or in a line: the shortest take twenty times as much memory as they do in the file."""

EVENT_LIMIT, ROW_LIMIT = 200_000, 2_000_000
"""Lines of the files with events and with measurements."""

_MAGIC = b"PK\x03\x04"

Document = TypeVar("Document", bound=BaseModel)


@dataclass(frozen=True)
class MeasuredSet:
    """A set with its measurements, repetitions in their order."""

    description: ArchivedSet
    measured: tuple[Measured, ...]


@dataclass(frozen=True)
class RunArchive:
    """What a zip holds: the manifest, and the values of its other files by the numbers of rows there."""

    manifest: RunManifest
    events: tuple[ArchivedEvent, ...]
    sets: tuple[MeasuredSet, ...]
    mappings: dict[int, PortMapping] = field(default_factory=dict)
    resource_mappings: dict[int, ResourceMapping] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many measurements there are."""
        return sum(len(archived.measured) for archived in self.sets)


@dataclass(frozen=True)
class ArchiveSummary:
    """What is told of a zip before it is imported: the manifest, and how many lines its other files have.

    `measurements`: by the names of the files of sets.
    """

    manifest: RunManifest
    events: int
    measurements: dict[str, int]

    @property
    def name(self) -> str:
        return self.manifest.run.name

    @property
    def rows(self) -> int:
        """How many measurements there are."""
        return sum(self.measurements.values())


def is_archive(content: bytes) -> bool:
    """Whether a file is a zip with a run's manifest; whatever else it may be."""
    try:
        return content.startswith(_MAGIC) and RUN in _tree(content).names()
    except ExchangeError:
        return False


def read_archive(content: bytes) -> RunArchive:
    """Everything in it.

    Raises `ExchangeError` that tells the file, the place in it, and what would be right.
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
    """What a page says of it: of its other files only the lines are counted. Raises `ExchangeError`."""
    tree = _tree(content)
    manifest = _manifest(tree)
    limits = {set_file(row.id): ROW_LIMIT for row in manifest.sets} | {EVENTS: EVENT_LIMIT}
    lines = {name: sum(1 for _ in tree.lines(name, most, LINE_LIMIT)) for name, most in limits.items()}
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
    """The last picture of a kind may be emptied no more: it is the one that is shown."""
    newest = {event.kind: event for event in events if event.kind in journal_events.replaced()}
    for event in newest.values():
        if not event.payload:
            raise ExchangeError(f"{EVENTS}, event {event.seq}: the last {event.kind!r} tells nothing")


def _set(tree: ZipTree, description: ArchivedSet) -> MeasuredSet:
    lines = tree.lines(set_file(description.id), ROW_LIMIT, LINE_LIMIT)
    return MeasuredSet(
        description,
        tuple(_measured(_document(ArchivedMeasurement, line, place), place) for place, line in lines),
    )


def _measured(row: ArchivedMeasurement, place: str) -> Measured:
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
    parsed = _parsed(tree, name)
    if parsed.mapping is None:
        raise ExchangeError(f"{name} is no port mapping")
    return parsed.mapping


def _resources(tree: ZipTree, description: ArchivedMapping) -> ResourceMapping:
    name = resource_mapping_file(description.id)
    parsed = _parsed(tree, name)
    if parsed.resources is None:
        raise ExchangeError(f"{name} is no resource mapping")
    return parsed.resources


def _parsed(tree: ZipTree, name: str) -> Parsed:
    """As the same file alone would be read."""
    parsed = parse(tree.read(name), name, AnyNames())
    if parsed.problem_count:
        raise ExchangeError("\n".join(parsed.lines()))
    return parsed
