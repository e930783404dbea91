"""Reads files that can be imported, in any of `file_formats.FORMATS`.

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
from functools import cache, cached_property
from typing import IO, Annotated, BinaryIO, TypeVar, cast

from pydantic import ConfigDict, Field, TypeAdapter

from inference.core.experiment import Unit
from inference.formats import palmed_json, rejects_json, uops_info_xml
from inference.formats.document import PART, Document
from inference.formats.file_formats import FORMATS, Format, format_of
from inference.formats.file_numbers import FileUnit
from inference.formats.near_formats import advice, appearance
from inference.formats.palmed_json import NAME_LIST, NameList, read_names
from inference.formats.problems import ExchangeError, FileProblem, Problems
from inference.formats.rejects_json import Rejects, read_rejects
from inference.formats.source import SIZE_LIMIT, Signature, Source, read_source
from inference.formats.uops_info_xml import OnBytes

SCHEME_LIMIT = 50_000  # several times what x86-64 has; looking up more would keep a page waiting


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


def bytes_to_store(
    file: IO[bytes], file_name: str, limit: int = SIZE_LIMIT, report: OnBytes = lambda done: None
) -> bytes:
    """The bytes of an upload that are stored and read: a digest of XML, any other file as it is.

    Args:
        file: The upload.
        file_name: Name of the file, for messages.
        limit: Largest size in bytes of a file that is not XML.
        report: Called with the bytes of XML that were read; raises in order to stop.

    Raises:
        ExchangeError: XML of another kind than uops.info's, or a file that is too large.
    """
    with ExitStack() as stack:
        stored = file_to_store(file, file_name, limit, stack, report)
        stored.seek(0)
        return stored.read()


def file_to_store(
    file: IO[bytes], file_name: str, limit: int, stack: ExitStack, report: OnBytes = lambda done: None
) -> IO[bytes]:
    """Like `bytes_to_store`, as a file.

    Args:
        file: The upload, at its beginning.
        file_name: Name of the file, for errors.
        limit: Bytes that may be stored.
        stack: Closes a temporary file, if one is needed.
        report: Report as for `bytes_to_store`.
    """
    beginning = file.read(uops_info_xml.XML_PEEK)
    file.seek(0)
    if uops_info_xml.BEGINNING.match(beginning):
        digest = tempfile.TemporaryFile()  # noqa: SIM115  the stack closes it
        stack.callback(digest.close)
        digest.write(uops_info_xml.condense(cast("BinaryIO", file), file_name, report))
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
        file_name: Name of the file, for messages.
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
        problems.add(f"the format is not recognised: this is {appearance(source)}", advice(source))
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
    return zlib.compress(
        _packed_type().dump_json(_Packed(form, replace(reading, format=None)), by_alias=True), 1
    )


def unpack(content: bytes) -> ParsedFile:
    packed = _packed_type().validate_json(zlib.decompress(content))
    formats = {file_format.key: file_format for file_format in FORMATS}
    return replace(packed.reading, format=None if packed.format is None else formats[packed.format])


@dataclass(frozen=True)
class _Packed:
    """A parsed file with the key of its format in place of the format."""

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="constants")

    format: str | None
    reading: ParsedFile


@cache
def _packed_type() -> TypeAdapter[_Packed]:
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
