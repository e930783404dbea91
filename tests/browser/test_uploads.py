"""Uploads in the browser: good ones become sets, bad ones say what is wrong and change nothing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import problem
from tests.browser.conftest import import_file, upload

HEADER = b"experiment,cycles\n"
ROW = b'"add GPR[64]:RW, GPR[64]:R",1.0\n'

MALFORMED = {
    "bad header": b"experiments;zyklen\nadd,1\n",
    "no header": ROW,
    "empty": b"",
    "header alone": HEADER,
    "text for cycles": HEADER + ROW + b'"add GPR[64]:RW, GPR[64]:R; imul GPR[64]:RW, GPR[64]:R",fast\n',
    "not a number": HEADER + b'"add GPR[64]:RW, GPR[64]:R",NaN\n',
    "infinite": HEADER + b'"add GPR[64]:RW, GPR[64]:R",inf\n',
    "negative": HEADER + b'"add GPR[64]:RW, GPR[64]:R",-1\n',
    "unknown scheme": HEADER + b'"ad GPR[64]:RW, GPR[64]:R",1\n',
    "bad multiplicity": HEADER + b'"0*add GPR[64]:RW, GPR[64]:R",1\n',
    "thousands of columns": b"experiment,cycles" + b",x" * 5000 + b"\n" + ROW,
    "binary garbage": bytes(range(256)) * 50,
    "wrong encoding": "experiment,cycles\nadd µ,1\n".encode("utf-16"),
    "broken json": b'{"kind": "ExperimentList", "experiments": [',
    "json of something else": b'{"hello": ["world"]}',
    "deep json": b"[" * 5000,
}


def discard(page: Page) -> None:
    """Give up the file whose preview is shown."""
    page.get_by_role("button", name="Discard this file").click()
    expect(page.get_by_role("status")).to_contain_text("discarded")


def sets(page: Page) -> list[str]:
    """The experiment sets there are."""
    page.goto("/sets/")
    return page.locator("tbody th a").all_inner_texts()


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_with_its_reason_and_changes_nothing(
    page: Page, name: str, tolerated: list[str]
):
    tolerated.append("status of 400")
    before = sets(page)
    upload(page, **{f"{name}.csv": MALFORMED[name]})
    expect(page.get_by_role("alert").first).to_contain_text(re.compile("problem|empty|file"))
    expect(page.get_by_role("button", name=re.compile("^Import "))).to_have_count(0)
    discard(page)
    assert sets(page) == before


def test_a_row_error_names_row_column_and_what_would_be_right(page: Page):
    upload(page, **{"x.csv": HEADER + ROW + b'"ad GPR[64]:RW, GPR[64]:R",1\n'})
    row = page.locator("tbody tr", has_text="experiment").first
    expect(row).to_contain_text("3")
    expect(row).to_contain_text("add GPR[64]:RW, GPR[64]:R")
    discard(page)


def test_a_good_file_is_previewed_then_imported_then_listed_renamed_and_deleted(page: Page):
    import_file(page, "soon renamed.csv", problem.as_csv())
    page.goto("/sets/")
    page.get_by_role("link", name="soon renamed").click()
    expect(page.locator("main")).to_contain_text(str(len(problem.experiments())))
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Name and note").click()
    page.get_by_label("Name").fill("renamed")
    page.get_by_label("Note").fill("made up for a test")
    page.locator("main form button[type=submit]").last.click()
    expect(page.get_by_role("heading", name="renamed")).to_be_visible()
    expect(page.locator("main")).to_contain_text("made up for a test")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Delete").click()
    page.locator("main form button[type=submit]").last.click()
    assert "renamed" not in sets(page)


def test_several_files_at_once_wait_for_a_decision(page: Page):
    upload(page, **{f"part {number}.csv": HEADER + ROW for number in (1, 2)})
    for number in (1, 2):
        page.get_by_role("button", name=f"Discard part {number}.csv").click()
    expect(page.get_by_role("button", name=re.compile("^Discard part"))).to_have_count(0)
