"""Measurements in the browser: a broken file put right, two sets compared bin by bin, merged, taken away."""

from __future__ import annotations

import csv
import io
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import problem
from tests.browser.axe import TOLERATED
from tests.browser.conftest import import_file, upload
from tests.browser.looks import assert_sound

ROWS = problem.as_csv().decode().splitlines()


@pytest.fixture(autouse=True)
def styled_by_axe(tolerated: list[str]) -> None:
    """What axe does to a page is no fault of the page."""
    tolerated.append(TOLERATED)


def changed(factor: float) -> bytes:
    """The made-up measurements, every one of them so much larger."""
    head, *rows = csv.reader(ROWS)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows((experiment, float(cycles) * factor) for experiment, cycles in rows)
    return out.getvalue().encode()


def test_a_file_with_wrong_names_and_rows_is_put_right_and_imported(page: Page):
    broken = [ROWS[0], '"add GPR[64]:RW, GPR[64]:R",fast', *ROWS[1:], '"zadd GPR[64]:RW, GPR[64]:R",1.0']
    upload(page, **{"soon right.csv": "\n".join(broken).encode()})
    expect(page.get_by_role("alert")).to_contain_text("cannot be imported")
    assert_sound(page, "preview")
    choice = page.locator("select[name=taken]").first
    choice.focus()
    page.keyboard.press("ArrowDown")  # the nearest scheme: the file is looked up again by itself
    expect(page.get_by_role("button", name="Replace none")).to_be_visible()
    expect(page.locator("select[name=taken] option:checked").first).not_to_contain_text("Leave unresolved")
    page.get_by_role("button", name=re.compile("^Skip the")).click()
    expect(page.get_by_role("status").first).to_contain_text("skipped")
    page.get_by_role("button", name=re.compile("^Import [0-9]")).click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    expect(page.locator("#run-state[data-state=done]")).to_be_visible()
    page.goto("/sets/")
    page.get_by_role("link", name="soon right").click()
    expect(page.locator("main")).to_contain_text("of the file was left out")


def test_two_sets_are_compared_by_keyboard_merged_and_exported(page: Page):
    import_file(page, "first day.csv", changed(1.0))
    import_file(page, "second day.csv", changed(1.02))
    page.goto("/sets/compare/")
    page.get_by_label("First set").select_option(label="first day")
    page.get_by_label("Second set").select_option(label="second day")
    expect(page.locator(".plot-area svg").first).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("Within 5 %")
    page.locator(".plot-area").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#bin")).to_contain_text("in this bin")
    expect(page.locator("[data-marked]")).to_contain_text("second day")
    assert_sound(page, "compared")
    page.get_by_role("link", name="Merge these two").click()
    assert_sound(page, "merge")
    page.get_by_label("take the median of the sets").check()
    page.get_by_label("Name of the new set").fill("both days")
    page.get_by_role("button", name="Merge").click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    expect(page.locator("#run-state[data-state=done]")).to_be_visible()
    page.goto("/sets/")
    page.get_by_role("link", name="both days").click()
    expect(page.locator("main")).to_contain_text("Merged from")
    assert_sound(page, "merged")
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("^Experiments \\(CSV\\)")).click()
    assert "experiment,cycles" in download.value.path().read_text()
