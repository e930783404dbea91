"""Decodes files to text or JSON, with a problem for each way in which that can fail, and detects formats.

Each format declares its `Signature`.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any

from inference.formats.file_numbers import FileUnit
from inference.formats.file_trees import entry_count
from inference.formats.problems import FilePlace, Problems, excerpt

SIZE_LIMIT = 64 * 1024 * 1024  # bytes; everything is parsed in memory
CONTAINER_LIMIT = 3_000_000
"""Lists and objects of a JSON document: each takes up to 250 bytes of memory, however short."""

_ZIP = b"PK\x03\x04"
_MAX_ENTRIES = 50_000  # of a zip archive
_NAMES_LISTED = 3  # that an error names
_NO_JSON = object()
_BINARY = {
    b"\x89PNG": "a PNG picture",
    b"%PDF-": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"PAR1": "a Parquet table",
    b"\x93NUMPY": "a NumPy array",
    b"\xd0\xcf\x11\xe0": "an Excel or Word file of before 2007",
}
"""Files that are no text, by their first bytes."""

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # a JSON string, perhaps without its end
_TEXT_OR_WORD = re.compile(rf"{_TEXT.pattern}|(?<![\w.])(?:True|False|None)(?![\w.])", re.DOTALL)
"""Python's words outside of strings."""


@dataclass(frozen=True)
class Source:
    """A decoded file: its text and, for JSON, its data.

    Attributes:
        part: Which part of a file with several parts to read, "" for the first.
        unit: Unit of numbers for which the file names none; None concludes it from the numbers.
        problems: Where readers note problems.
    """

    file_name: str
    text: str
    data: Any = _NO_JSON
    part: str = ""
    unit: FileUnit | None = FileUnit.CYCLES
    problems: Problems = field(default_factory=Problems)

    @property
    def is_json(self) -> bool:
        return self.data is not _NO_JSON

    def at(self, column: str = "", row: int | None = None) -> FilePlace:
        """A place in the file; see `FileProblem`."""
        return FilePlace(self.problems, row, column)

    def has_version(self, version: int) -> bool:
        """Whether the document has this version; notes a problem where not."""
        stated = self.data.get("version")
        if stated != version:
            self.at("version").add(
                f"version {excerpt(stated)} of the format", f"version {version} is expected"
            )
        return bool(stated == version)


@dataclass(frozen=True)
class Signature:
    """Tells whether a file is of a format.

    `patterns`: all occur in the first `within` characters (None: anywhere) of a text that is no JSON. For
    JSON, `shape` decides on the document; without it, the key "format" is `format`, or the key "kind" is
    `kind`, or the object has all keys of one of the sets in `keys`.
    """

    patterns: tuple[re.Pattern[str], ...] = ()
    within: int | None = None
    format: str = ""
    kind: str = ""
    keys: tuple[Set[str], ...] = ()
    shape: Callable[[Any], bool] | None = None

    def is_of(self, source: Source) -> bool:
        data = source.data
        if not source.is_json:
            beginning = source.text[: self.within]
            return bool(self.patterns) and all(pattern.search(beginning) for pattern in self.patterns)
        if self.shape is not None:
            return self.shape(data)
        if not isinstance(data, dict):
            return False
        if self.format:
            return bool(data.get("format") == self.format)
        if self.kind and isinstance(data.get("kind"), str):
            return bool(data["kind"] == self.kind)
        return any(keys <= data.keys() for keys in self.keys)


def read_source(content: bytes, file_name: str, problems: Problems) -> Source | None:
    """Decode a file.

    Args:
        content: The file, at most `SIZE_LIMIT` bytes.
        file_name: Name of the file, for messages.
        problems: Where problems are noted.

    Returns:
        None after noting why the file is neither text in UTF-8 nor JSON.
    """
    if content.startswith(_ZIP):
        problems.add(
            f"a zip archive that has {_describe_archive(content)}",
            "archives of runs, campaigns and generalisations are known; other files come unpacked",
        )
        return None
    text = _decode(content, problems)
    if text is None:
        return None
    if not text.lstrip().startswith(("{", "[")):
        return Source(file_name, text, problems=problems)
    data = _load_json(text, problems)
    return None if data is _NO_JSON else Source(file_name, text, data, problems=problems)


def _describe_archive(content: bytes) -> str:
    """The files in an archive, for a message."""
    archive = io.BytesIO(content)
    if entry_count(archive) > _MAX_ENTRIES:
        return f"more than {_MAX_ENTRIES:,} files"
    try:
        names = zipfile.ZipFile(archive).namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "no readable directory"
    if "xl/workbook.xml" in names:
        return "the sheets of a workbook: save each as CSV"
    listed = ", ".join(excerpt(name) for name in names[:_NAMES_LISTED])
    suffix = ", …" if len(names) > _NAMES_LISTED else ""
    return f"{len(names):,} files: {listed}{suffix}" if names else "no file"


def _decode(content: bytes, problems: Problems) -> str | None:
    """The text of a file; None, with the problem noted, where it is none."""
    if len(content) > SIZE_LIMIT:
        problems.add(
            f"the file has {len(content) >> 20} MiB", f"at most {SIZE_LIMIT >> 20} MiB can be read: split it"
        )
        return None
    if content.startswith(_UTF16):
        problems.add("the file is encoded in UTF-16", "save it as UTF-8")
        return None
    kind = next((kind for magic, kind in _BINARY.items() if content.startswith(magic)), "")
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        right = f"this is {kind}: export a CSV or JSON text" if kind else "a CSV or JSON text is expected"
        problems.add("a NUL byte: this is not a text file", right, row=line)
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problems.add(
            f"the byte {content[error.start]:#04x} is not UTF-8",
            f"save the file as UTF-8 (it may be in Latin-1 or {kind or 'not be a text at all'})",
            row=line,
        )
        return None
    if not text.strip():
        problems.add("the file is empty", "a CSV or JSON text is expected")
        return None
    return text


def _load_json(text: str, problems: Problems) -> Any:
    """The value of a JSON text; `_NO_JSON`, with problems noted, where it is none."""
    if _container_count(text) > CONTAINER_LIMIT:
        problems.add(f"the JSON has more than {CONTAINER_LIMIT:,} lists and objects", "split the file")
        return _NO_JSON
    repeated_keys: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        merged = dict(pairs)
        if len(merged) < len(pairs):
            times = Counter(key for key, _ in pairs)
            repeated_keys.extend(key for key, count in times.items() if count > 1)
        return merged

    try:
        data = _parse_json(text, unique)
    except json.JSONDecodeError as error:
        problems.add(
            f"not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})",
            "a JSON document is expected",
            row=error.lineno,
        )
        return _NO_JSON
    except RecursionError:
        problems.add("the JSON is nested too deeply", "no known format nests more than a few levels")
        return _NO_JSON
    except ValueError:  # Python converts no whole numbers of thousands of digits
        problems.add("the JSON holds a number of thousands of digits", "use ordinary numbers")
        return _NO_JSON
    for key in dict.fromkeys(repeated_keys):
        problems.add(
            f"the key {excerpt(key)} occurs more than once in one object", "every key may occur once"
        )
    return data


def _container_count(text: str) -> int:
    """Number of lists and objects in a JSON text: exact above `CONTAINER_LIMIT`, else an upper bound."""
    count = text.count("[") + text.count("{")
    if count <= CONTAINER_LIMIT:
        return count
    return count - sum(match[0].count("[") + match[0].count("{") for match in _TEXT.finditer(text))


def _parse_json(text: str, hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    """Parse JSON, also with True, False and None, which some published files have."""
    try:
        return json.loads(text, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        if not text.startswith(tuple(_PYTHON_WORDS), error.pos):
            raise
    return json.loads(_TEXT_OR_WORD.sub(_json_word, text), object_pairs_hook=hook)


def _json_word(match: re.Match[str]) -> str:
    return _PYTHON_WORDS.get(match[0], match[0])
