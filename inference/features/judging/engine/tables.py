"""Tables of values at every door: columns, CSV, lines of the shell, cells of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from inference.core.mapping import described
from inference.formats.quoting import written
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable, Value

Buttons = Sequence[tuple[str, str]]
"""Of a row: what each sends, and its label."""


class LinkedText(str):
    """The text of a cell with what a page adds to it.

    `url` is where it leads; with a `label`, the link stands behind the text under this name. `note` is a line
    below it.
    """

    url: str
    label: str
    note: str

    def __new__(cls, text: str, url: str = "", *, label: str = "", note: str = "") -> LinkedText:
        made = super().__new__(cls, text)
        made.url, made.label, made.note = url, label, note
        return made


class LinkedNumber(float):
    """The number of a cell, which leads to `url` on a page."""

    url: str

    def __new__(cls, value: float, url: str) -> LinkedNumber:
        made = super().__new__(cls, value)
        made.url = url
        return made


def number(title: str, decimals: int = 2) -> PublishedColumn:
    return PublishedColumn(title, CellKind.NUMBER, decimals)


def code(title: str) -> PublishedColumn:
    return PublishedColumn(title, CellKind.CODE)


def text(title: str) -> PublishedColumn:
    return PublishedColumn(title)


def choice(title: str) -> PublishedColumn:
    return PublishedColumn(title, CellKind.CHOICE)


def usage(title: str, ports: Sequence[str]) -> PublishedColumn:
    return PublishedColumn(title, CellKind.UOPS, ports=tuple(ports))


RowT = TypeVar("RowT")
Column = tuple[PublishedColumn, Callable[[RowT], Value]]
"""A heading, and what stands below it in a row."""


def table_of(key: str, title: str, rows: Iterable[RowT], *columns: Column[RowT]) -> PublishedTable:
    """A table of these columns, with a line for each of the rows."""
    heads, cells = zip(*columns, strict=True)
    return PublishedTable(key, title, heads, tuple(tuple(cell(row) for cell in cells) for row in rows))


def csv_of(table: PublishedTable, head: str = "") -> str:
    """The table below the comments in `head`: numbers with all their digits, µops as `2×[0,1]`."""
    rows = (
        [
            described(value, column.ports) if isinstance(value, tuple) else value
            for column, value in zip(table.columns, row, strict=True)
        ]
        for row in table.rows
    )
    return written([column.title for column in table.columns], rows, head)


def page_cells(table: PublishedTable, buttons: Sequence[Buttons] = ()) -> dict[str, Any]:
    """What `view_table.html` shows: each row as pairs of a column and a value, with its buttons."""
    cells = [list(zip(table.columns, row, strict=True)) for row in table.rows]
    return {"table": table, "rows": list(zip(cells, buttons or [()] * len(cells), strict=True))}


def shell_lines(tables: Iterable[PublishedTable], most: int | None = None) -> Iterator[str]:
    """Tables in the shell, each under its title: texts to the left, numbers to the right; `most` rows."""
    for table in tables:
        yield table.title
        if table.rows:
            yield from _lines(table, most)


def _lines(table: PublishedTable, most: int | None) -> Iterator[str]:
    cells = [[column.title for column in table.columns]]
    cells += [
        [_cell(value, column) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows[:most]
    ]
    widths = [max(len(row[place]) for row in cells) for place in range(len(table.columns))]
    numeric = [column.kind == CellKind.NUMBER for column in table.columns]
    for row in cells:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        yield "  " + "  ".join(aligned).rstrip()
    if most is not None and len(table.rows) > most:
        yield f"  … and {len(table.rows) - most} more"
    if table.note:
        yield table.note


def _cell(value: Value, column: PublishedColumn) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return described(value, column.ports)
    return f"{value:,.{column.decimals}f}" if isinstance(value, int | float) else str(value)
