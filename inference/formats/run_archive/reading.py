"""Reading the zip of a run, which may come from anywhere: bounded, checked, nothing written to disk."""

from __future__ import annotations

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, BinaryIO, TypeVar, cast

from pydantic import BaseModel, ValidationError

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.explain.events import check_masks
from inference.core.mapping import PortMapping
from inference.core.resources import ResourceMapping
from inference.formats import journal_events
from inference.formats.archived_parts import first_flaw
from inference.formats.errors import ExchangeError
from inference.formats.foreign_texts import check_texts
from inference.formats.parsing import AnyNames, Parsed, parse
from inference.formats.run_archive.documents import (
    EVENTS,
    RUN,
    ArchivedMeasurement,
    EventTold,
    MappingTold,
    ResultTold,
    RunManifest,
    SetTold,
    mapping_file,
    resource_mapping_file,
    set_file,
)
from inference.formats.run_archive.reports import ReportTold
from inference.formats.source import SIZE_LIMIT
from inference.formats.strict_json import load
from inference.formats.zip_directory import listed_files

UNPACKED_LIMIT = 8 * SIZE_LIMIT
"""Bytes that the files together may have: a small zip can hold endlessly many."""

RUN_LIMIT, LINE_LIMIT = SIZE_LIMIT // 2, SIZE_LIMIT // 4
"""Bytes of `run.json`, and of a line. The former has 20 MiB where ten thousand schemes are told of."""

VALUE_LIMIT = 2_000_000
"""Values in `run.json` or in a line: the shortest take twenty times as much memory as they do in the file."""

MEMBER_LIMIT = 50_000
"""Files in the zip."""

EVENT_LIMIT, ROW_LIMIT = 200_000, 2_000_000
"""Lines of the files with events and with measurements."""

_MAGIC = b"PK\x03\x04"
_PIECE = 1 << 16

Document = TypeVar("Document", bound=BaseModel)


@dataclass(frozen=True)
class ReadSet:
    """A set with its measurements, repetitions in their order."""

    told: SetTold
    measured: tuple[Measured, ...]


@dataclass(frozen=True)
class RunArchive:
    """What a zip holds: the manifest, and the values of its other files by the numbers of rows there."""

    manifest: RunManifest
    events: tuple[EventTold, ...]
    sets: tuple[ReadSet, ...]
    mappings: dict[int, PortMapping] = field(default_factory=dict)
    resource_mappings: dict[int, ResourceMapping] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the run."""
        return self.manifest.run.name

    @property
    def rows(self) -> int:
        """How many measurements there are."""
        return sum(len(each.measured) for each in self.sets)


@dataclass(frozen=True)
class Glimpse:
    """What is told of a zip before it is imported: the manifest, and how many lines its other files have."""

    manifest: RunManifest
    events: int
    sets: tuple[tuple[SetTold, int], ...]

    @property
    def name(self) -> str:
        """Of the run."""
        return self.manifest.run.name

    @property
    def rows(self) -> int:
        """How many measurements there are."""
        return sum(count for _, count in self.sets)


_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, RuntimeError, OSError),  # packed in a way, or with a password, that is not ours
    UnicodeDecodeError,  # a name that is no text
)


def is_archive(content: bytes) -> bool:
    """Whether a file is a zip with a run's manifest; whatever else it may be."""
    if not content.startswith(_MAGIC) or listed_files(io.BytesIO(content)) > MEMBER_LIMIT:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return RUN in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def read_archive(content: bytes) -> RunArchive:
    """Everything in it.

    Raises `ExchangeError` that tells the file, the place in it, and what would be right.
    """
    with _opened(content) as files:
        return _read(files)


def glimpse_of(content: bytes) -> Glimpse:
    """What a page says of it: of its other files only the lines are counted. Raises `ExchangeError`."""
    with _opened(content) as files:
        manifest = _manifest(files)
        sets = tuple((told, files.count(set_file(told.id), ROW_LIMIT)) for told in manifest.sets)
        return Glimpse(manifest, files.count(EVENTS, EVENT_LIMIT), sets)


@contextmanager
def _opened(content: bytes) -> Iterator[_Files]:
    if listed_files(io.BytesIO(content)) > MEMBER_LIMIT:
        raise ExchangeError(f"the zip has more than {MEMBER_LIMIT:,} files; that of a run has some dozens")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield _Files(archive)
    except _DAMAGED as error:
        raise ExchangeError(
            f"the zip is damaged, or packed in a way that is not read here: {error}"
        ) from error


class _Files:
    """The files of a zip, of which no more than `UNPACKED_LIMIT` bytes are ever unpacked."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = UNPACKED_LIMIT

    def read(self, name: str, limit: int) -> bytes:
        """A whole file, which may have so many bytes."""
        with self._file(name) as file:
            content = file.read(min(limit, self._left) + 1)
        self._take(len(content))
        if len(content) > limit:
            raise ExchangeError(f"{name} has more than {limit >> 20} MiB, the most that is read")
        return content

    def lines(self, name: str, most: int) -> Iterator[tuple[str, bytes]]:
        """(place, line) of those that are not empty, as they come."""
        with self._file(name) as file:
            for number in count(1):
                line = file.readline(LINE_LIMIT + 1)
                if not line:
                    return
                self._take(len(line))
                if number > most:
                    raise ExchangeError(f"{name} has more than {most:,} lines, the most that are read")
                if len(line) > LINE_LIMIT:
                    raise ExchangeError(
                        f"{name}, line {number} has more than {LINE_LIMIT >> 20} MiB, the most that is read"
                    )
                if line.strip():
                    yield f"{name}, line {number}", line

    def count(self, name: str, most: int) -> int:
        """How many lines a file has."""
        found, last = 0, b"\n"
        with self._file(name) as file:
            while piece := file.read(_PIECE):
                self._take(len(piece))
                found += piece.count(b"\n")
                last = piece[-1:]
                if found > most:
                    raise ExchangeError(f"{name} has more than {most:,} lines, the most that are read")
        return found + (last != b"\n")

    @contextmanager
    def _file(self, name: str) -> Iterator[BinaryIO]:
        try:
            opened = self._archive.open(name)
        except KeyError:
            raise ExchangeError(f"{name} is missing in the zip of the run") from None
        except ValueError as error:  # a place before the beginning, or a name that is no text
            raise ExchangeError(f"{name} is not where the zip says: {error}") from error
        with opened, io.BufferedReader(cast("io.RawIOBase", opened), _PIECE) as file:
            yield file

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ExchangeError(
                f"the zip unpacks to more than {UNPACKED_LIMIT >> 20} MiB, the most that is read"
            )


def _read(files: _Files) -> RunArchive:
    manifest = _manifest(files)
    events = tuple(_event(line, place) for place, line in files.lines(EVENTS, EVENT_LIMIT))
    numbers = [event.seq for event in events]
    if numbers != sorted(set(numbers)):
        raise ExchangeError(f"{EVENTS}: the numbers of events ascend, each occurs once")
    _check_replaced(events)
    return RunArchive(
        manifest,
        events,
        tuple(_set(files, told) for told in manifest.sets),
        {told.id: _mapping(files, told) for told in manifest.mappings},
        {told.id: _resources(files, told) for told in manifest.resource_mappings},
    )


def _manifest(files: _Files) -> RunManifest:
    manifest = _document(RunManifest, files.read(RUN, RUN_LIMIT), RUN)
    _checked(ResultTold, manifest.run.result, f"{RUN}, run.result")
    return manifest


def _document(kind: type[Document], content: bytes, place: str) -> Document:
    try:
        value = load(content, place, VALUE_LIMIT)
        check_texts(value, place)
    except ValueError as error:  # a `StrictJsonError`, or a text
        raise ExchangeError(str(error)) from error
    return _checked(kind, value, place)


def _checked(kind: type[Document], content: Any, place: str) -> Document:
    try:
        return kind.model_validate_json(json.dumps(content))
    except ValidationError as error:
        raise ExchangeError(first_flaw(error, place)) from error


def _event(line: bytes, place: str) -> EventTold:
    told = _document(EventTold, line, place)
    kind = journal_events.kinds().get(told.kind)
    if kind is not None and not (kind.replaced and not told.payload):
        try:
            kind.check(told.payload)
        except ValidationError as error:
            raise ExchangeError(first_flaw(error, f"{place}, payload of {told.kind!r}")) from error
    return told


def _check_replaced(events: Sequence[EventTold]) -> None:
    """The last picture of a kind may be emptied no more: it is the one that is shown."""
    newest = {event.kind: event for event in events if event.kind in journal_events.replaced()}
    for event in newest.values():
        if not event.payload:
            raise ExchangeError(f"{EVENTS}, event {event.seq}: the last {event.kind!r} tells nothing")


def _set(files: _Files, told: SetTold) -> ReadSet:
    lines = files.lines(set_file(told.id), ROW_LIMIT)
    return ReadSet(
        told, tuple(_measured(_document(ArchivedMeasurement, line, place), place) for place, line in lines)
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


def _mapping(files: _Files, told: MappingTold) -> PortMapping:
    name = mapping_file(told.id)
    parsed = _parsed(files, name)
    if parsed.mapping is None:
        raise ExchangeError(f"{name} is no port mapping")
    report = _checked(ReportTold, told.report, f"{RUN}, report of mapping {told.id}")
    try:
        check_masks([*report.masks(), *told.masks()], len(parsed.mapping.ports))
    except ValueError as error:
        raise ExchangeError(f"{RUN}, mapping {told.id}: {error}") from error
    return parsed.mapping


def _resources(files: _Files, told: MappingTold) -> ResourceMapping:
    name = resource_mapping_file(told.id)
    parsed = _parsed(files, name)
    if parsed.resources is None:
        raise ExchangeError(f"{name} is no resource mapping")
    _checked(ReportTold, told.report, f"{RUN}, report of resource mapping {told.id}")
    return parsed.resources


def _parsed(files: _Files, name: str) -> Parsed:
    """As the same file alone would be read."""
    parsed = parse(files.read(name, SIZE_LIMIT), name, AnyNames())
    if parsed.problem_count:
        raise ExchangeError("\n".join(parsed.lines()))
    return parsed
