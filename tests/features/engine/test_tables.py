"""One table at every door: a file, the shell, the cells of a page."""

from __future__ import annotations

import csv
import io

from django.template.loader import render_to_string
from django.test import RequestFactory

from inference.core.mapping import Uops
from inference.features.judging.engine.tables import (
    LinkedNumber,
    LinkedText,
    choice,
    code,
    csv_of,
    number,
    page_cells,
    shell_lines,
    table_of,
    usage,
)

Row = tuple[str, float | None, Uops | None]
ROWS: list[Row] = [("add", 0.25, ((0b011, 1),)), ("mul", None, None), ("div", 12.5, ((0b100, 2),))]
TABLE = table_of(
    "rows",
    "Three rows",
    ROWS,
    (code("scheme"), lambda row: LinkedText(row[0], f"/{row[0]}/", note=f"note of {row[0]}")),
    (choice("kind"), lambda row: "known" if row[2] else "unknown"),
    (number("cycles", 1), lambda row: None if row[1] is None else LinkedNumber(row[1], "/experiment/")),
    (usage("µops", "012"), lambda row: row[2]),
)


def test_a_file_has_all_digits_and_no_links() -> None:
    lines = list(csv.reader(io.StringIO(csv_of(TABLE, "# head\n").removeprefix("# head\n"))))
    assert lines[0] == ["scheme", "kind", "cycles", "µops"]
    assert lines[1:3] == [["add", "known", "0.25", "1×[0,1]"], ["mul", "unknown", "", ""]]
    assert lines[3][2] == "12.5"


def test_the_shell_aligns_columns_and_says_what_it_leaves_out() -> None:
    title, head, *rows = shell_lines([TABLE], 2)
    assert title == "Three rows"
    assert head == "  scheme  kind     cycles  µops"
    assert rows == ["  add     known       0.2  1×[0,1]", "  mul     unknown       –  –", "  … and 1 more"]
    assert list(shell_lines([table_of("none", "Nothing", [], *[(code("x"), str)])])) == ["Nothing"]


def test_a_page_has_links_notes_and_the_buttons_of_its_rows() -> None:
    buttons = [[("again:1", "Measure again")], [], []]
    context = {**page_cells(TABLE, buttons), "form": "measure", "means": {"able": True}, "may_operate": True}
    page = render_to_string("inference/engine/view_table.html", context, RequestFactory().get("/"))
    assert '<a href="/add/">add</a><span class="sub">note of add</span>' in page
    assert '<a href="/experiment/">12.5</a>' in page.replace(",", "").replace("\u202f", "").replace(
        "&nbsp;", ""
    )
    assert '<span class="badge">unknown</span>' in page
    assert page.count("<button") == page.count('form="measure"') == 1
    assert 'value="again:1"' in page
    assert "disabled" not in page
    reader = render_to_string("inference/engine/view_table.html", {**context, "may_operate": False})
    assert "<button" not in reader
