"""Quotes untrusted texts for files: one function per syntax. Pages are quoted by Django's templates instead.

CSV: a spreadsheet evaluates a cell that begins with `=`, `+`, `-` or `@`, also behind blanks, so a name from
a foreign file could run commands where an export is opened. Such a text is written behind an apostrophe,
which spreadsheets show as text and `plain_text` removes. Numbers are written as they are.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from inference.core.texts import REPLACEMENT, UNSAFE, as_single_line, paragraphs, xml_text

_DIRECTIVE = re.compile(r"(?:LLVM|OSACA|IACA)-|[A-Z][A-Z0-9_-]*:")
"""Beginnings of comments that llvm-exegesis, llvm-mca, OSACA, lit or FileCheck take for directives."""


def comment(sign: str, text: str) -> str:
    """A comment line with its line break."""
    return f"{sign} {as_single_line(text)}\n"


def assembly_comment(text: str) -> str:
    """An assembly comment without a line break, which no tool takes for a directive."""
    line = as_single_line(text)
    return f"# '{line}" if _DIRECTIVE.match(line) else f"# {line}"


_REMARK = re.compile(r"(?!(?:diff|index|prereq)\b|x)[a-z][\w ]*: ", re.IGNORECASE | re.ASCII)
"""`from: ` and the like; other words would be part of a patch, or end its head."""


def patch_remark(text: str) -> str:
    """A line, with its line break, above a patch's first file.

    patch and git look for the first file themselves, also behind blanks and the letter X: a line that does
    not begin with `words: ` is put behind `#`, which neither recognises.
    """
    line = as_single_line(text)
    return f"{line}\n" if _REMARK.match(line) else f"# {line}\n"


def json_text(value: Any, **options: Any) -> str:
    """A value as JSON, which is valid YAML as well. `options`: those of `json.dumps`.

    Non-ASCII letters are written as they are; control characters and other unsafe ones are escaped.
    """
    return UNSAFE.sub(_escape, json.dumps(value, ensure_ascii=False, **options))


def _escape(match: re.Match[str]) -> str:
    """The JSON escape of a character; `�` for a lone surrogate, which YAML cannot hold even escaped."""
    if match[0] == "\n":  # between values, where `indent` puts it
        return match[0]
    return REPLACEMENT if "\ud800" <= match[0] <= "\udfff" else f"\\u{ord(match[0]):04x}"


def json_by_line(document: Mapping[str, Any], long: str) -> str:
    """A JSON object with a line per key, and a line per key of the object below `long`: for `diff`."""
    lines = []
    for key, value in document.items():
        if key == long:
            inner = ",\n".join(f"  {json_text(name)}: {json_text(entry)}" for name, entry in value.items())
            lines.append(f" {json_text(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {json_text(key)}: {json_text(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def yaml_line(text: str) -> str:
    return "'" + as_single_line(text).replace("'", "''") + "'"


def shell_word(text: str) -> str:
    return shlex.quote(as_single_line(text))


def shell_option(option: str, text: str) -> str:
    """A shell option with a text; behind `=` where the text itself looks like an option."""
    return f"{option}{'=' if text.startswith('-') else ' '}{shell_word(text)}"


_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(|\A(?:[#>+*=|-]|```|~~~|\d+(?=[.)]\s))")
"""Beginnings of HTML, of link addresses, and of Markdown blocks at the start of a line."""


def markdown_line(text: str) -> str:
    """A text as a line of Markdown, or a part of one."""
    return _MARKUP.sub(_escaped_markup, as_single_line(text))


def _escaped_markup(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdecimal() else f"\\{match[0]}"


def markdown_cell(text: str) -> str:
    return markdown_line(text).replace("|", "\\|")


def code_span(text: str) -> str:
    """A text as inline code of Markdown; backticks become apostrophes."""
    return f"`{as_single_line(text).replace('`', chr(39))}`"


def code_block(language: str, text: str) -> str:
    """A Markdown code block; its fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)
    return f"{fence}{language}\n{paragraphs(text).rstrip(chr(10))}\n{fence}"


_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
_APOSTROPHE = "'"
_PART_IN_COMMENT = re.compile(r'([,;\t][\s",;]*+)([=+\-@]?)')
"""A cell behind a separator, and its first sign if that would begin a formula."""


def safe_text(text: str) -> str:
    """A text as a CSV cell that no spreadsheet evaluates; `plain_text` is the inverse.

    >>> safe_text("=1+1"), plain_text(safe_text("=1+1"))
    ("'=1+1", '=1+1')
    """
    bare = text.lstrip(_APOSTROPHE + " ")
    return _APOSTROPHE + text if bare.startswith(_FORMULA_SIGNS) or text.startswith(_FORMULA_SIGNS) else text


def safe_comment(line: str) -> str:
    """A comment above a CSV table: spreadsheets split it at separators too, so no part may be a formula."""
    return _PART_IN_COMMENT.sub(lambda part: part[1] + _APOSTROPHE * bool(part[2]) + part[2], line)


def plain_text(cell: str) -> str:
    """The text of a cell that `safe_text` wrote; other texts unchanged."""
    text = cell[1:] if cell.startswith(_APOSTROPHE) else cell
    return text if text != cell and safe_text(text) == cell else cell


def cell(value: object) -> str:
    """A value as a CSV cell: "" for None, numbers with all their digits, texts printable and safe."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return str(value) if isinstance(value, int) else safe_text(paragraphs(str(value)))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]], head: str = "") -> str:
    """A CSV table as text, in which no cell is a formula for a spreadsheet.

    Args:
        header: Titles.
        rows: Values; quoted by `cell`.
        head: Comment lines above the header, with line breaks; "" for none.

    >>> csv_text(["scheme", "cycles"], [["add", 0.25]]).split()
    ['scheme,cycles', 'add,0.25']
    """
    return head + rows_text([[cell(name) for name in header]]) + rows_text(map(cell, row) for row in rows)


def rows_text(rows: Iterable[Iterable[str]]) -> str:
    """CSV lines of cells that were quoted by `cell`."""
    lines = _Lines()
    csv.writer(lines, lineterminator=_ENDING).writerows(rows)
    return "".join(lines)


_ENDING = "\r\n"
"""Passed to `csv` so that it quotes cells with either character, each of which ends a row for some readers.
"""


class _Lines(list[str]):
    """Collects rows from `csv`, and ends them with a line feed."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix(_ENDING) + "\n")


class XmlLines:
    """Writes XML, an element per line, indented by depth; attributes with empty values are omitted."""

    def __init__(self) -> None:
        self._out = io.StringIO()
        self._xml = XMLGenerator(self._out, encoding="utf-8")
        self._xml.startDocument()
        self._depth = 0

    @contextmanager
    def inside(self, name: str, attributes: Mapping[str, str]) -> Iterator[None]:
        """Context in which elements are written inside this one."""
        self._begin(name, attributes)
        self._xml.ignorableWhitespace("\n")
        self._depth += 1
        yield
        self._depth -= 1
        self._xml.ignorableWhitespace(" " * self._depth)
        self._end(name)

    def leaf(self, name: str, attributes: Mapping[str, str], text: str = "") -> None:
        """An element with text only."""
        self._begin(name, attributes)
        self._xml.characters(xml_text(text))
        self._end(name)

    def text(self) -> str:
        return self._out.getvalue()

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._xml.ignorableWhitespace(" " * self._depth)
        safe_attributes = {key: xml_text(value) for key, value in attributes.items() if value}
        self._xml.startElement(name, AttributesImpl(safe_attributes))

    def _end(self, name: str) -> None:
        self._xml.endElement(name)
        self._xml.ignorableWhitespace("\n")
