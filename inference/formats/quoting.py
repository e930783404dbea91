"""How texts from anywhere stand in files: one function for each syntax, whatever the text holds.

Of cells of CSV files, a spreadsheet evaluates a text that begins with `=`, `+`, `-` or `@`, also behind a
blank that it strips: a name or a note from a foreign file could so run commands where the export is opened.
Such a text is written with an apostrophe in front, which spreadsheets show as text; reading takes it away
again. Numbers stay.

XML has an element per line, indented by depth. Pages have Django's templates.
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
"""What llvm-exegesis, llvm-mca, OSACA, lit and FileCheck take for more, where a comment begins so."""


def comment(sign: str, text: str) -> str:
    """A line of comment with its line break, behind the sign that begins one."""
    return f"{sign} {as_single_line(text)}\n"


def assembly_comment(text: str) -> str:
    """A comment of assembly, without a line break, that no tool takes for a directive."""
    line = as_single_line(text)
    return f"# '{line}" if _DIRECTIVE.match(line) else f"# {line}"


_REMARK = re.compile(r"(?!(?:diff|index|prereq)\b|x)[a-z][\w ]*: ", re.IGNORECASE | re.ASCII)


def patch_remark(text: str) -> str:
    """A line with its line break ahead of a patch's first file.

    patch and git look for the first file themselves, behind blanks and the letter X too: what begins
    otherwise than `words: ` stands behind a sign that neither knows.
    """
    line = as_single_line(text)
    return f"{line}\n" if _REMARK.match(line) else f"# {line}\n"


def json_text(value: Any, **options: Any) -> str:
    """A value as JSON, which is YAML as well; `options` are those of `json.dumps`.

    Letters stand as they are, what is unsafe in a text is escaped.
    """
    return UNSAFE.sub(_escaped, json.dumps(value, ensure_ascii=False, **options))


def _escaped(match: re.Match[str]) -> str:
    """The character as JSON escapes it; `�` for a lone surrogate, which YAML cannot hold even so."""
    if match[0] == "\n":  # between values, where `indent` puts it
        return match[0]
    return REPLACEMENT if "\ud800" <= match[0] <= "\udfff" else f"\\u{ord(match[0]):04x}"


def json_by_line(document: Mapping[str, Any], long: str) -> str:
    """A JSON object with one line per key, and one per key inside the long one: good to read and compare."""
    lines = []
    for key, value in document.items():
        if key == long:
            inner = ",\n".join(f"  {json_text(name)}: {json_text(entry)}" for name, entry in value.items())
            lines.append(f" {json_text(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {json_text(key)}: {json_text(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def yaml_line(text: str) -> str:
    """Any text as a YAML text of one line, in single quotes."""
    return "'" + as_single_line(text).replace("'", "''") + "'"


def shell_word(text: str) -> str:
    """Any text as one word of a command line that people paste into a shell."""
    return shlex.quote(as_single_line(text))


def shell_option(option: str, text: str) -> str:
    """An option with any text: also one like `--settings=…`, which Django would take for an option."""
    return f"{option}{'=' if text.startswith('-') else ' '}{shell_word(text)}"


_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(|\A(?:[#>+*=|-]|```|~~~|\d+(?=[.)]\s))")
"""What begins HTML, the address of a link, or a block where a line begins."""


def markdown_line(text: str) -> str:
    """Any text as a line of text, or a part of one."""
    return _MARKUP.sub(_escaped_markup, as_single_line(text))


def _escaped_markup(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdecimal() else f"\\{match[0]}"


def markdown_cell(text: str) -> str:
    """Any text as a cell of a table."""
    return markdown_line(text).replace("|", "\\|")


def code_span(text: str) -> str:
    """Any text as code within a line; a backtick becomes an apostrophe."""
    return f"`{as_single_line(text).replace('`', chr(39))}`"


def code_block(language: str, text: str) -> str:
    """Lines of code between fences that are longer than any in them."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)
    return f"{fence}{language}\n{paragraphs(text).rstrip(chr(10))}\n{fence}"


_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
_APOSTROPHE = "'"
_PART_IN_COMMENT = re.compile(r'([,;\t][\s",;]*+)([=+\-@]?)')


def safe_text(text: str) -> str:
    """The text as a cell; `plain_text` gives it back."""
    stripped = text.lstrip(_APOSTROPHE + " ")
    return (
        _APOSTROPHE + text if stripped.startswith(_FORMULA_SIGNS) or text.startswith(_FORMULA_SIGNS) else text
    )


def safe_comment(line: str) -> str:
    """A line above a table: a spreadsheet takes it apart at commas too, so no part may be a formula."""
    return _PART_IN_COMMENT.sub(lambda part: part[1] + _APOSTROPHE * bool(part[2]) + part[2], line)


def plain_text(cell: str) -> str:
    """The text of a cell that `safe_text` wrote."""
    text = cell[1:] if cell.startswith(_APOSTROPHE) else cell
    return text if text != cell and safe_text(text) == cell else cell


def cell(value: object) -> str:
    """Any value as a cell: nothing for None, numbers with all their digits, texts printable and safe."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return str(value) if isinstance(value, int) else safe_text(paragraphs(str(value)))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]], head: str = "") -> str:
    """A CSV text: `head` (whole lines of comments), the header, and the rows with their cells made safe."""
    return head + rows_text([[cell(name) for name in header]]) + rows_text(map(cell, row) for row in rows)


def rows_text(rows: Iterable[Iterable[str]]) -> str:
    """Lines of cells that are safe already."""
    lines = _Lines()
    csv.writer(lines, lineterminator=_ENDING).writerows(rows)
    return "".join(lines)


_ENDING = "\r\n"
"""What `csv` quotes besides separators and quotes: either of the two begins a row for some readers."""


class _Lines(list[str]):
    """Takes a row at a time, and ends it as all lines here end."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix(_ENDING) + "\n")


class XmlLines:
    """A document as it is written; attributes without a value are left out."""

    def __init__(self) -> None:
        self._out = io.StringIO()
        self._xml = XMLGenerator(self._out, encoding="utf-8")
        self._xml.startDocument()
        self._depth = 0

    @contextmanager
    def inside(self, name: str, attributes: Mapping[str, str]) -> Iterator[None]:
        """An element around those that are written meanwhile."""
        self._begin(name, attributes)
        self._xml.ignorableWhitespace("\n")
        self._depth += 1
        yield
        self._depth -= 1
        self._xml.ignorableWhitespace(" " * self._depth)
        self._end(name)

    def leaf(self, name: str, attributes: Mapping[str, str], text: str = "") -> None:
        """An element with nothing but text in it."""
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
