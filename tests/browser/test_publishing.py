"""A published site, opened from the disk as its readers do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.visiting import overflow, visit


@pytest.fixture
def published(page: Page, example: None, tmp_path: Path) -> str:
    """The address of a gallery on the disk: the example's mapping, and the same once more."""
    visit(page, "/publish/")
    mappings = page.get_by_role("group", name="Port mappings")
    item = mappings.get_by_role("checkbox", name="Example: Zen 4, by PMEvo").first.get_attribute("value")
    answer = page.request.get(f"/publish/site.zip?item={item}&title=Published")
    assert answer.ok
    with zipfile.ZipFile(io.BytesIO(answer.body())) as archive:
        archive.extractall(tmp_path)
    return (tmp_path / "index.html").as_uri()


def test_a_published_page_works_from_the_disk(page: Page, published: str) -> None:
    page.goto(published)
    expect(page.get_by_role("heading", level=1)).to_have_text("Published")
    rows = page.locator("#table-schemes tbody tr:visible")
    number = rows.count()
    assert number > 10
    cycles = page.get_by_role("button", name="Predicted cycles")
    cycles.click()
    cycles.click()
    place = page.locator("#table-schemes th[aria-sort=descending]").evaluate("head => head.cellIndex")
    numbers = page.locator(f"#table-schemes tbody td:nth-child({place + 1})").all_text_contents()
    assert [float(text) for text in numbers] == sorted(map(float, numbers), reverse=True)
    page.get_by_label("Port", exact=True).select_option(index=1)
    fewer = rows.count()
    assert 0 < fewer < number
    first = rows.first.locator("th").text_content() or ""
    page.get_by_label("Search this page").fill(first.split()[0])
    assert 0 < rows.count() <= fewer
    expect(rows.first).to_contain_text(first.split()[0])


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_published_page_is_accessible_and_fits_a_phone(page: Page, published: str, colours: str) -> None:
    page.emulate_media(color_scheme=colours)  # type: ignore[arg-type]
    page.goto(published)
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflow(page) <= 0
