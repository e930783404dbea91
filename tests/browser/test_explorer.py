"""Mappings to explore: two in one graph, its filters, links and file, doubts, the page of a scheme."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.conftest import import_file
from tests.browser.looks import assert_sound
from tests.browser.problem import USAGE
from tests.browser.test_mappings import CHANGED, as_json


@pytest.fixture(scope="module")
def paths(browser: Browser, address: str, session: Any) -> dict[str, str]:
    """The addresses of two mappings that differ in one scheme."""
    context = browser.new_context(base_url=address, storage_state=session)
    page = context.new_page()
    found = {}
    for name, usage in (("explored", USAGE), ("explored otherwise", {**USAGE, CHANGED: ((0b001, 1),)})):
        import_file(page, f"{name}.json", as_json(usage))
        page.goto("/mappings/")
        found[name] = page.get_by_role("link", name=name, exact=True).get_attribute("href") or ""
    context.close()
    return found


@pytest.fixture
def beside(paths: dict[str, str]) -> str:
    """The graph of both."""
    other = paths["explored otherwise"].rstrip("/").rpartition("/")[2]
    return f"{paths['explored']}?with={other}"


def test_two_mappings_are_drawn_into_one_graph_differences_first(page: Page, paths: dict[str, str]):
    page.goto(f"{paths['explored']}?find=GPR")
    page.get_by_label("Compare with").select_option(label="explored otherwise")
    expect(page).to_have_url(re.compile(r"with=\d+"))
    expect(page.locator("[data-graph-search]")).to_have_value("GPR")
    first = page.locator("[data-node=g0]")
    expect(first).to_have_accessible_name(re.compile(f"^different µops: {re.escape(CHANGED)}"))
    first.click()
    details = page.locator("[data-graph-details]")
    expect(details.get_by_role("heading", name="Here", exact=True)).to_be_visible()
    expect(details.get_by_role("heading", name="There")).to_be_visible()
    expect(page.locator(".edge.only-here")).to_have_count(1)
    expect(page.locator(".edge.only-there")).to_have_count(1)
    page.get_by_label("Schemes", exact=True).select_option("different")
    expect(page.locator("[data-graph-status]")).to_contain_text("1 of 10 schemes")


def test_filters_narrow_the_graph_and_are_kept_in_the_address(page: Page, paths: dict[str, str]):
    page.goto(paths["explored"])
    page.get_by_label("Extension").select_option(index=1)
    status = page.locator("[data-graph-status]")
    expect(status).to_contain_text("of 10 schemes")
    expect(page).to_have_url(re.compile("extension="))
    filtered = status.inner_text()
    page.reload()
    expect(status).to_have_text(filtered)


def test_a_scheme_leads_to_its_place_in_the_graph_and_back(page: Page, paths: dict[str, str]):
    page.goto(f"{paths['explored']}?tab=schemes")
    page.get_by_role("link", name=CHANGED).first.click()
    expect(page.get_by_role("heading", name="In port mappings")).to_be_visible()
    page.get_by_role("link", name="explored", exact=True).click()
    expect(page).to_have_url(re.compile(r"pin=i\d+"))
    expect(page.locator(".node[aria-pressed=true]")).to_have_count(1)
    expect(page.locator("[data-graph-details] h2")).to_have_text(CHANGED)


def test_the_graph_is_saved_whole_and_stands_by_itself(page: Page, beside: str):
    page.goto(beside)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as SVG").click()
    assert saved.value.suggested_filename == "explored.svg"
    root = ET.parse(saved.value.path()).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = "".join(root.itertext())
    groups = root.findall(".//*[@class='node node-g']")
    assert f"in {len(groups)} groups" in page.locator("[data-graph-status]").inner_text()
    assert CHANGED in text
    assert "light-dark" not in text
    assert "rgb(0, 114, 178)" in text  # the first port's colour in light mode
    expect(page.locator("[data-node=g0]")).to_be_visible()


def test_doubts_say_what_would_decide_and_what_is_missing_to_measure_it(page: Page, beside: str):
    page.goto(beside.replace("?", "?tab=doubts&"))
    row = page.locator("tbody tr", has_text=CHANGED)
    expect(row.locator(".badge")).to_have_text("in conflict")
    expect(row).to_contain_text("here 2.00, there 1.00 cycles")
    expect(page.locator("#no-machine")).to_contain_text("Nothing can be measured now")
    expect(row.get_by_role("button", name="Measure deciding experiment")).to_be_disabled()
    page.get_by_label("Doubt", exact=True).select_option("excluded")
    expect(page.get_by_role("heading", name="No doubt matches")).to_be_visible()


def test_the_pages_are_accessible_and_fit_in_light_and_dark(page: Page, beside: str, tolerated: list[str]):
    tolerated.append(TOLERATED)
    page.goto(beside.replace("?", "?tab=schemes&"))
    scheme = page.get_by_role("link", name=CHANGED).first.get_attribute("href") or ""
    for path in (beside, beside.replace("?", "?tab=doubts&"), scheme):
        page.goto(path)
        assert_sound(page, f"explorer {path}")
