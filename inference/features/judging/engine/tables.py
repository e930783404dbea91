"""Tables of values: their columns, and their forms as CSV, lines of the shell, and cells of a page.

`result_tables` computes them from a run's result, which is all that runs of earlier versions have stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from inference.core.mapping import described
from inference.core.protocols import Json
from inference.formats.quoting import csv_text
from inference.isa.blocks import intel_or_digits
from inference.isa.targets import DEFAULT
from inference.web.published_page import CellKind, ProperName, PublishedColumn, PublishedTable, Value

Buttons = Sequence[tuple[str, str]]
"""(value, label) of each button of a row."""


class LinkedText(str):
    """The text of a cell, with its link and note on a page.

    Attributes:
        url: The target of the link, "" for none. With a `label`, the link is that text, behind the cell's
            text.
        note: A line below the text.
    """

    url: str
    label: str
    note: str

    def __new__(cls, text: str, url: str = "", *, label: str = "", note: str = "") -> LinkedText:
        linked = super().__new__(cls, text)
        linked.url, linked.label, linked.note = url, label, note
        return linked


class LinkedNumber(float):
    """The number of a cell, which links to `url` on a page."""

    url: str

    def __new__(cls, value: float, url: str) -> LinkedNumber:
        linked = super().__new__(cls, value)
        linked.url = url
        return linked


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


def per_cent(share: float | None) -> float | None:
    return None if share is None else 100 * share


RowT = TypeVar("RowT")
Column = tuple[PublishedColumn, Callable[[RowT], Value]]
"""A heading, and the function that computes its cell from a row."""


def table_of(
    key: str, title: str, rows: Iterable[RowT], *columns: Column[RowT], note: str = ""
) -> PublishedTable:
    """A table with a line per row, whose cells the columns compute."""
    heads, cells = zip(*columns, strict=True)
    lines = tuple(tuple(cell(row) for cell in cells) for row in rows)
    return PublishedTable(key, title, heads, lines, note)


def csv_of(table: PublishedTable, head: str = "") -> str:
    """The table below the comments in `head`: numbers with all their digits, µops as `2×[0,1]`."""
    rows = (
        [
            described(value, column.ports) if isinstance(value, tuple) else value
            for column, value in zip(table.columns, row, strict=True)
        ]
        for row in table.rows
    )
    return csv_text([column.title for column in table.columns], rows, head)


def page_cells(table: PublishedTable, buttons: Sequence[Buttons] = ()) -> dict[str, Any]:
    """The context of `view_table.html`: each row as (column, value) pairs, with its buttons."""
    cells = [list(zip(table.columns, row, strict=True)) for row in table.rows]
    return {"table": table, "rows": list(zip(cells, buttons or [()] * len(cells), strict=True))}


def shell_lines(tables: Iterable[PublishedTable], max_rows: int | None = None) -> Iterator[str]:
    """The lines of tables in the shell, each with a title and at most `max_rows` rows; numbers are
    right-aligned."""
    for table in tables:
        yield table.title
        if table.rows:
            yield from _lines(table, max_rows)


def _lines(table: PublishedTable, max_rows: int | None) -> Iterator[str]:
    cells = [[column.title for column in table.columns]]
    cells += [
        [_cell(value, column) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows[:max_rows]
    ]
    widths = [max(len(row[place]) for row in cells) for place in range(len(table.columns))]
    numeric = [column.kind == CellKind.NUMBER for column in table.columns]
    for row in cells:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        yield "  " + "  ".join(aligned).rstrip()
    if max_rows is not None and len(table.rows) > max_rows:
        yield f"  … and {len(table.rows) - max_rows} more"
    if table.note:
        yield table.note


def _cell(value: Value, column: PublishedColumn) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return described(value, column.ports)
    return f"{value:,.{column.decimals}f}" if isinstance(value, int | float) else str(value)


_COUNTS = (number("Answered", 0), number("Failures", 0), number("Compared", 0), number("MAPE (%)"))
_CORRELATIONS = (number("Pearson r", 3), number("Kendall τ", 3))


def result_tables(result: Json) -> list[PublishedTable]:
    """The tables of a result, whichever kind of comparison it was; none for other results."""
    tables = []
    if "accuracy" in result:
        tables.append(columns_table(result["accuracy"]))
    if "check" in result:
        tables += _check_tables(result["check"])
    if "both" in result:
        names = [column["name"] for column in result["columns"]]
        note = "Blocks with a disagreement, in per cent of the blocks for which both have a number."
        tables.append(disagreement_table("Tool", names, result["differing"], result["both"], note))
    return tables


def columns_table(accuracy: Json) -> PublishedTable:
    """A row per column of a basic-block set, compared with a reference column."""
    heads = (PublishedColumn("Column"), *_COUNTS, *_CORRELATIONS, number("MAPE by weight (%)"))
    rows = tuple(
        (*_counts(column), column["scores"]["pearson"], column["scores"]["kendall"], column["weighted"])
        for column in accuracy["columns"]
    )
    return PublishedTable("columns", "Columns compared with the reference", heads, rows)


def check_table(check: Json) -> PublishedTable:
    """A row per predictor of an accuracy check; the first is the repeated measurement."""
    heads = (
        *(PublishedColumn("Predictor"), *_COUNTS, number("Median (%)"), *_CORRELATIONS),
        *(number("Within 10 %", 3), number("More than 3 % above", 3)),
        *(PublishedColumn("Verdict", CellKind.CHOICE), PublishedColumn("Why")),
    )
    rows = tuple(_check_row(answer) for answer in (check["again"], *check["predictors"]))
    title = f"{check['measured']:,} of {check['blocks']:,} blocks of {check['source']} on {check['machine']}"
    return PublishedTable("check", f"{title}, {check['mode']}", heads, rows)


def _check_row(answer: Json) -> tuple[Value, ...]:
    scores, judgement = answer["scores"], answer.get("judgement") or {"grade": "", "reasons": ()}
    return (
        *(
            *_counts(answer),
            answer["median"],
            scores["pearson"],
            scores["kendall"],
            answer["near"],
            answer["above"],
        ),
        *(judgement["grade"], "; ".join(judgement["reasons"])),
    )


def _counts(answer: Json) -> tuple[Value, ...]:
    scores = answer["scores"]
    return (answer["name"], answer["answered"], answer["failed"], scores["n"], scores["mape"])


def _check_tables(check: Json) -> Iterator[PublishedTable]:
    yield check_table(check)
    yield from _table("Left out", ("Predictor", "Reason"), check["unasked"].items())
    for predictor in check["predictors"]:
        by_bound = ((part["bound"], part["n"], part["mape"], part["median"]) for part in predictor["bounds"])
        titles = ("Largest bound", "Blocks", "MAPE (%)", "Median (%)")
        yield from _table(f"{predictor['name']}, by component", titles, by_bound)
        traits = (
            (f"{trait['kind']} {trait['name']}", trait["n"], trait["inside"], trait["outside"])
            for trait in predictor["traits"]["found"]
        )
        titles = ("Trait", "Blocks", "Median error (%)", "of the others (%)")
        yield from _table(f"{predictor['name']}, traits with larger errors", titles, traits)
        worst = ((_assembly(block), block["measured"], block["said"]) for block in predictor["worst"])
        yield from _table(f"Worst blocks of {predictor['name']}", ("Block", "Measured", "Predicted"), worst)


def _table(
    title: str, titles: tuple[str, ...], rows: Iterable[tuple[Value, ...]]
) -> Iterator[PublishedTable]:
    """Yields a table with these rows; nothing without rows. The first row decides which columns have
    numbers."""
    lines = tuple(rows)
    if lines:
        kinds = (CellKind.NUMBER if isinstance(value, int | float) else CellKind.TEXT for value in lines[0])
        heads = tuple(PublishedColumn(head, kind) for head, kind in zip(titles, kinds, strict=True))
        yield PublishedTable("details", title, heads, lines)


def _assembly(block: Json) -> str:
    return "; ".join(intel_or_digits(bytes.fromhex(block["hex"]), block.get("isa", DEFAULT)))


def disagreement_table(
    title: str,
    names: Sequence[str],
    differing: Sequence[Sequence[int]],
    both: Sequence[Sequence[int]],
    note: str,
    url: Callable[[int, int], str] = lambda place, other: "",
) -> PublishedTable:
    """How often each two of the named sources differ, in per cent of the items for which both have a
    number.

    Args:
        title: The heading of the sources.
        url: The page with the items that distinguish two of them.
    """
    rows = tuple(
        (
            name,
            *(
                LinkedNumber(100 * far / common, url(place, other)) if common and other != place else None
                for other, (far, common) in enumerate(zip(differing[place], both[place], strict=True))
            ),
        )
        for place, name in enumerate(names)
    )
    heads = (text(title), *(number(ProperName(name), 1) for name in names))
    return PublishedTable("matrix", "How often each two disagree", heads, rows, note)
