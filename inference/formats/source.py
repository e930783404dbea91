"""From the bytes of a file to text or JSON, with every way in which that can go wrong told as a problem.

What tells the formats of such files apart is declared by each, as a `Signature`, and evaluated here.
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
"""Lists and objects of a JSON document: each takes up to 250 bytes of memory, however short it is."""

_ZIP = b"PK\x03\x04"
_MOST_ENTRIES = 50_000
_NAMES_LISTED = 3
_NO_JSON = object()
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PYTHON_WORDS = {
    "True": "true",
    "False": "false",
    "None": "null",
}  # as long: places in the file stay the same
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_TEXT_OR_WORD = re.compile(rf"{_TEXT.pattern}|(?<![\w.])(?:True|False|None)(?![\w.])", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """A readable file: its text and, where it is a JSON document, its data.

    `problems` takes what is wrong with it. `wanted`: which part of a file to read that has several, see
    `inference.formats.uops_info_digest`. `unit`: that of numbers that name none; None: what they look like.
    """

    file_name: str
    text: str
    data: Any = _NO_JSON
    part: str = ""
    unit: FileUnit | None = FileUnit.CYCLES
    problems: Problems = field(default_factory=Problems)

    @property
    def is_json(self) -> bool:
        """Whether the file is a JSON document."""
        return self.data is not _NO_JSON

    def at(self, column: str = "", row: int | None = None) -> FilePlace:
        """A place in the file, by the names that `FileProblem` has for it."""
        return FilePlace(self.problems, row, column)

    def has_version(self, version: int) -> bool:
        """Whether the document is of the version that is read; notes where it is not."""
        stated = self.data.get("version")
        if stated != version:
            self.at("version").add(
                f"version {excerpt(stated)} of the format", f"version {version} is expected"
            )
        return bool(stated == version)


@dataclass(frozen=True)
class Signature:
    """What a file of a format has at its top.

    Of a text that is no JSON, the first `within` characters have all `patterns`. A JSON object is named
    `format`, or says that it is of this `kind`, or has all keys of one of the sets `keys`; for what no key
    tells, `shape` looks at the document.
    """

    patterns: tuple[re.Pattern[str], ...] = ()
    within: int | None = None
    format: str = ""
    kind: str = ""
    keys: tuple[Set[str], ...] = ()
    shape: Callable[[Any], bool] | None = None

    def is_of(self, source: Source) -> bool:
        """Whether a file has it."""
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
    """Decode a file; None after noting why it is not readable text or JSON."""
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
    """What an archive holds, in a few words."""
    archive = io.BytesIO(content)
    if entry_count(archive) > _MOST_ENTRIES:
        return f"more than {_MOST_ENTRIES:,} files"
    try:
        names = zipfile.ZipFile(archive).namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "no readable directory"
    listed = ", ".join(excerpt(name) for name in names[:_NAMES_LISTED])
    return (
        f"{len(names):,} files: {listed}{', …' if len(names) > _NAMES_LISTED else ''}" if names else "no file"
    )


def _decode(content: bytes, problems: Problems) -> str | None:
    if len(content) > SIZE_LIMIT:
        problems.add(
            f"the file has {len(content) >> 20} MiB",
            f"at most {SIZE_LIMIT >> 20} MiB can be read: split it",
        )
        return None
    if content.startswith(_UTF16):
        problems.add("the file is encoded in UTF-16", "save it as UTF-8")
        return None
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        problems.add("a NUL byte: this is not a text file", "a CSV or JSON text is expected", row=line)
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problems.add(
            f"the byte {content[error.start]:#04x} is not UTF-8",
            "save the file as UTF-8 (it may be in Latin-1 or not be a text at all)",
            row=line,
        )
        return None
    if not text.strip():
        problems.add("the file is empty", "a CSV or JSON text is expected")
        return None
    return text


def _load_json(text: str, problems: Problems) -> Any:
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
    """How many lists and objects a document has; exact only where there may be too many."""
    count = text.count("[") + text.count("{")
    if count <= CONTAINER_LIMIT:
        return count
    return count - sum(match[0].count("[") + match[0].count("{") for match in _TEXT.finditer(text))


def _parse_json(text: str, hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    """The document, also where it has Python's words for true, false and null, as some published files do."""
    try:
        return json.loads(text, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        if not text.startswith(tuple(_PYTHON_WORDS), error.pos):
            raise
    return json.loads(_TEXT_OR_WORD.sub(_json_word, text), object_pairs_hook=hook)


def _json_word(match: re.Match[str]) -> str:
    return _PYTHON_WORDS.get(match[0], match[0])
