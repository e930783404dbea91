"""Cells of CSV files that no spreadsheet takes for a formula.

A spreadsheet evaluates a text that begins with `=`, `+`, `-` or `@`, also behind a blank that it strips: a
name or a note from a foreign file could so run commands where the export is opened. Such a text is written
with an apostrophe in front, which spreadsheets show as text; reading takes it away again. Numbers stay.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

from inference.core.texts import paragraphs

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
_MARK = "'"
_PART_IN_COMMENT = re.compile(r'([,;\t][\s",;]*+)([=+\-@]?)')


def safe_text(text: str) -> str:
    """The text as a cell; `plain_text` gives it back."""
    begins = text.lstrip(_MARK + " ")
    return _MARK + text if begins.startswith(_DANGEROUS) or text.startswith(_DANGEROUS) else text


def safe_comment(line: str) -> str:
    """A line above a table: a spreadsheet takes it apart at commas too, so no part may be a formula."""
    return _PART_IN_COMMENT.sub(lambda part: part[1] + _MARK * bool(part[2]) + part[2], line)


def plain_text(cell: str) -> str:
    """The text of a cell that `safe_text` wrote."""
    rest = cell[1:] if cell.startswith(_MARK) else cell
    return rest if rest != cell and safe_text(rest) == cell else cell


def cell(value: object) -> str:
    """Any value as a cell: nothing for None, numbers with all their digits, texts printable and safe."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return str(value) if isinstance(value, int) else safe_text(paragraphs(str(value)))


def written(header: Sequence[str], rows: Iterable[Sequence[object]], head: str = "") -> str:
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
