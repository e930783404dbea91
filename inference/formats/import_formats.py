"""The formats of files that can be imported, in the order of their detection, and reading a file.

A parsed file is stored beside the upload (`pack`), so that it is parsed once. `parsing` resolves scheme
names.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from typing import IO, Annotated, BinaryIO, TypeVar, cast

from pydantic import ConfigDict, Field, TypeAdapter

from inference.core.metrics import Unit
from inference.formats import (
    exegesis_reading,
    experiment_csv,
    mapping_json,
    osaca_reading,
    palmed_json,
    rejects_json,
    uops_info_digest,
    uops_info_xml,
    winic_yaml,
)
from inference.formats.document import PART, Document
from inference.formats.file_numbers import FileUnit
from inference.formats.palmed_json import NAME_LIST, NameList, read_names
from inference.formats.pmevo_json import read_experiment_list, read_mapping3
from inference.formats.problems import ExchangeError, FileProblem, Problems
from inference.formats.rejects_json import Rejects, read_rejects
from inference.formats.source import SIZE_LIMIT, Signature, Source, read_source

SCHEME_LIMIT = 50_000  # several times what x86-64 has; looking up more would keep a page waiting


class FileContent(StrEnum):
    EXPERIMENTS = "experiments"
    MAPPING = "mapping"
    RESOURCES = "resources"
    LATENCIES = "latencies"
    NAMES = "names"
    REJECTS = "rejects"


@dataclass(frozen=True)
class Format:
    """A file format: its signature and its reader.

    `read` notes problems of the file instead of raising. Where a file has several parts, each part is a
    format: `reads_part` tells whether it is the requested one; None for the part that the formats above
    leave.
    """

    key: str
    title: str
    content: FileContent
    signature: Signature
    read: Callable[[Source], Document]
    reads_part: Callable[[Source], bool] | None = None

    def reads(self, source: Source) -> bool:
        return self.signature.is_of(source) and (self.reads_part is None or self.reads_part(source))


FORMATS = (
    Format(
        "mapping-json",
        "port mapping (JSON)",
        FileContent.MAPPING,
        Signature(format=mapping_json.FORMAT_NAME),
        mapping_json.read_mapping_json,
    ),
    Format(
        "resource-json",
        "resource mapping (JSON)",
        FileContent.RESOURCES,
        Signature(format=mapping_json.RESOURCE_FORMAT),
        mapping_json.read_resource_json,
    ),
    Format(
        "pmevo-experiments",
        "PMEvo ExperimentList (JSON)",
        FileContent.EXPERIMENTS,
        Signature(kind="ExperimentList", keys=({"exps"},)),
        read_experiment_list,
    ),
    Format(
        "pmevo-mapping",
        "PMEvo Mapping3 (JSON)",
        FileContent.MAPPING,
        Signature(kind="Mapping3", keys=({"assignment"},)),
        read_mapping3,
    ),
    Format(
        "explained-mapping",
        "explainable port mapping (JSON)",
        FileContent.MAPPING,
        Signature(keys=({rejects_json.RATE, "data"},)),
        rejects_json.read_explained,
    ),
    Format(
        "explained-rejects",
        "rejects of an explainable run (JSON)",
        FileContent.REJECTS,
        rejects_json.SIGNATURE,
        rejects_json.read_rejects_alone,
    ),
    Format(
        "uops-info-xml",
        "instructions.xml of uops.info",
        FileContent.MAPPING,
        Signature(format=uops_info_digest.DIGEST),
        uops_info_digest.read_digest,
        uops_info_digest.reads_usages,
    ),
    Format(
        "uops-info-measured",
        "measurements of uops.info (instructions.xml)",
        FileContent.EXPERIMENTS,
        Signature(format=uops_info_digest.DIGEST),
        uops_info_digest.read_measured_digest,
    ),
    Format(
        "uops-info",
        "port usages of uops.info (JSON)",
        FileContent.MAPPING,
        Signature(shape=uops_info_digest.has_measurements),
        uops_info_digest.read_uops_info,
    ),
    Format(
        "palmed-mapping",
        "Palmed resource mapping (JSON)",
        FileContent.RESOURCES,
        Signature(keys=({palmed_json.INSTRUCTIONS}, {palmed_json.CLASSES})),
        palmed_json.read_palmed,
    ),
    Format(
        "palmed-names",
        "Palmed name list (JSON)",
        FileContent.NAMES,
        palmed_json.NAME_LIST,
        palmed_json.read_name_list,
    ),
    Format(
        "exegesis-throughput",
        "llvm-exegesis, inverse throughput (YAML)",
        FileContent.EXPERIMENTS,
        exegesis_reading.SIGNATURE,
        exegesis_reading.read_exegesis_throughput,
        exegesis_reading.reads_throughput,
    ),
    Format(
        "exegesis-latency",
        "llvm-exegesis, latency (YAML)",
        FileContent.LATENCIES,
        exegesis_reading.SIGNATURE,
        exegesis_reading.read_exegesis_latency,
    ),
    Format(
        "osaca-ports",
        "OSACA machine model (YAML)",
        FileContent.MAPPING,
        osaca_reading.SIGNATURE,
        osaca_reading.read_osaca_ports,
        osaca_reading.reads_ports,
    ),
    Format(
        "osaca-latencies",
        "latencies of an OSACA machine model (YAML)",
        FileContent.LATENCIES,
        osaca_reading.SIGNATURE,
        osaca_reading.read_osaca_latency,
    ),
    Format(
        "winic-throughputs",
        "throughputs of WINIC (YAML)",
        FileContent.EXPERIMENTS,
        winic_yaml.SIGNATURE,
        winic_yaml.read_winic_throughput,
        winic_yaml.reads_throughputs,
    ),
    Format(
        "winic-latencies",
        "latencies of WINIC (YAML)",
        FileContent.LATENCIES,
        winic_yaml.SIGNATURE,
        winic_yaml.read_winic_latency,
    ),
    Format(
        "experiment-csv",
        "experiments (CSV)",
        FileContent.EXPERIMENTS,
        experiment_csv.SIGNATURE,
        experiment_csv.read_experiment_csv,
    ),
)


def format_of(source: Source) -> Format | None:
    """The first of `FORMATS` that reads the file, None for an unknown one."""
    return next((candidate for candidate in FORMATS if candidate.reads(source)), None)


@dataclass(frozen=True)
class ParsedFile:
    """A file as read, scheme names not yet resolved. Stored by `pack`."""

    file_name: str
    format: Format | None
    document: Document
    problems: tuple[FileProblem, ...] = ()
    problem_count: int = 0
    part: Annotated[str, Field(alias="wanted")] = ""
    """Which part of a file with several parts was read."""
    guessed: bool = False
    """Whether the unit was concluded from the numbers."""

    @cached_property
    def scheme_names(self) -> dict[str, None]:
        """All scheme names of the file, as written, in the order of their first occurrence."""
        names = dict.fromkeys(name for entry in self.document.experiments for name, _ in entry.terms)
        names.update(dict.fromkeys(usage.scheme for usage in self.document.usages))
        names.update(dict.fromkeys(verdict.scheme for verdict in self.document.verdicts))
        names.update(dict.fromkeys(entry.scheme for entry in self.document.loads))
        names.update(dict.fromkeys(entry.scheme for entry in self.document.latencies))
        names.update(dict.fromkeys(name for name, _, _ in self.document.refused))
        return names

    def translated(self, names: palmed_json.NameList) -> ParsedFile:
        """The file with a name list's scheme names in addition to its own."""
        return replace(self, document=palmed_json.translated(self.document, names))


def bytes_to_store(file: IO[bytes], file_name: str, limit: int = SIZE_LIMIT) -> bytes:
    """The bytes of an upload that are stored and read: a digest of XML, any other file as it is.

    Args:
        file: The upload.
        file_name: For messages.
        limit: Largest size in bytes of a file that is not XML.

    Raises:
        ExchangeError: XML of another kind than uops.info's, or a file that is too large.
    """
    with ExitStack() as stack:
        stored = file_to_store(file, file_name, limit, stack)
        stored.seek(0)
        return stored.read()


def file_to_store(file: IO[bytes], file_name: str, limit: int, stack: ExitStack) -> IO[bytes]:
    """Like `bytes_to_store`, as a file.

    Args:
        file: The upload, at its beginning.
        file_name: For errors.
        limit: Bytes that may be stored.
        stack: Closes a temporary file, if one is needed.
    """
    beginning = file.read(uops_info_xml.XML_PEEK)
    file.seek(0)
    if uops_info_xml.BEGINNING.match(beginning):
        digest = tempfile.TemporaryFile()  # noqa: SIM115  the stack closes it
        stack.callback(digest.close)
        digest.write(uops_info_xml.condense(cast("BinaryIO", file), file_name))
        return digest
    if file.seek(0, os.SEEK_END) > limit:
        raise ExchangeError(f"{file_name} is larger than {limit >> 20} MiB, the most that can be read")
    return file


def read(
    content: bytes, file_name: str, unit: FileUnit | Unit | None = FileUnit.CYCLES, part: str = ""
) -> ParsedFile:
    """Detect the format of a file and read it; problems are listed in the result, not raised.

    Args:
        content: The file.
        file_name: For messages.
        unit: Unit of numbers for which the file names none; None concludes it from the numbers.
        part: Which part of a file with several parts to read; "" for the first.
    """
    problems = Problems()
    source = read_source(content, file_name, problems)
    if source is not None:
        source = replace(source, part=part, unit=None if unit is None else FileUnit(unit.value))
    file_format = None if source is None else format_of(source)
    document = Document()
    if source is not None and file_format is None:
        titles = ", ".join(candidate.title for candidate in FORMATS)
        right = f"known are {titles}; a CSV has the header {experiment_csv.HEADER}"
        problems.add("the format is not recognised", right)
    elif source is not None and file_format is not None:
        document = file_format.read(source)
    parsed = ParsedFile(
        file_name,
        file_format,
        document,
        tuple(problems.listed),
        problems.count,
        str(document.facts.get(PART, part)),
        unit is None,
    )
    name_count = len(parsed.scheme_names)
    if name_count <= SCHEME_LIMIT:
        return parsed
    problems.add(f"{name_count} different scheme names", f"an instruction set has at most {SCHEME_LIMIT}")
    return replace(parsed, document=Document(), problems=tuple(problems.listed), problem_count=problems.count)


def pack(reading: ParsedFile) -> bytes:
    form = None if reading.format is None else reading.format.key
    return zlib.compress(_packed().dump_json(_Packed(form, replace(reading, format=None)), by_alias=True), 1)


def unpack(content: bytes) -> ParsedFile:
    packed = _packed().validate_json(zlib.decompress(content))
    formats = {file_format.key: file_format for file_format in FORMATS}
    return replace(packed.reading, format=None if packed.format is None else formats[packed.format])


@dataclass(frozen=True)
class _Packed:
    """A parsed file with the key of its format in place of the format."""

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="constants")

    format: str | None
    reading: ParsedFile


@cache
def _packed() -> TypeAdapter[_Packed]:
    """Built at first use: compiling the validators of all entries takes time."""
    return TypeAdapter(_Packed)


Value = TypeVar("Value")


def name_list_of(content: bytes, file_name: str) -> NameList:
    """The translation of Palmed's instruction names in a file. Raises `ExchangeError` for other files."""
    expected = "this is no list of names", 'an object {"our scheme": ["Palmed\'s instruction"]} is expected'
    return _side_file(content, file_name, NAME_LIST, read_names, expected)


def rejects_of(content: bytes, file_name: str) -> Rejects:
    """The schemes that a published explainable run rejected. Raises `ExchangeError` for other files."""
    expected = "this is no list of rejected schemes", 'a list [["scheme", "why"], …] is expected'
    return _side_file(content, file_name, rejects_json.SIGNATURE, read_rejects, expected)


def _side_file(
    content: bytes,
    file_name: str,
    signature: Signature,
    read_it: Callable[[Source], Value],
    expected: tuple[str, str],
) -> Value:
    """Read a file that accompanies another. `expected`: (problem, what is expected) for other files."""
    problems = Problems()
    source = read_source(content, file_name, problems)
    if source is not None and signature.is_of(source):
        value = read_it(source)
        if not problems:
            return value
    elif not problems:
        problems.add(*expected)
    raise ExchangeError("\n".join(problem.line(file_name) for problem in problems.listed))
