"""A comparison of predictors in the browser: started from a set, its maps, bins, biases."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound


@pytest.fixture(scope="module")
def compared(browser: Browser, address: str, session: Any, example: None) -> str:
    """The address of a comparison on the recorded example, started as a user does."""
    context = browser.new_context(base_url=address, storage_state=session)
    page = context.new_page()
    page.goto("/sets/")
    page.locator("tbody a").first.click()
    page.get_by_role("button", name="More").click()
    page.get_by_role("link", name="Compare…").click()
    boxes = page.locator("[data-field=mappings] input")
    expect(boxes.first).to_be_checked()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".scores-table tbody tr").first).to_be_visible()
    found = page.url
    context.close()
    return found


def test_a_predictor_leads_to_its_map_and_a_bin_to_its_experiments(page: Page, compared: str):
    page.goto(compared)
    page.locator(".small-map").first.scroll_into_view_if_needed()  # drawn when they come into sight
    expect(page.locator(".small-map .main-svg").first).to_be_visible()
    page.locator(".scores-table tbody tr").first.locator("[data-label=MAPE] a").click()
    expect(page.locator("[data-heat-map-of] .main-svg").first).to_be_visible()
    area = page.locator("[data-heat-map-of] .plot-area")
    area.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-marked]")).to_contain_text("experiment")
    page.keyboard.press("Enter")
    expect(page.locator("#bin h2")).to_contain_text("in this bin")
    expect(page).to_have_url(re.compile(r"bin=\d+(%2C|,)\d+"))
    page.locator("#bin tbody a").first.click()
    expect(page).to_have_url(re.compile(r"/experiments/\d+"))


def test_units_filters_and_biases_are_addresses(page: Page, compared: str):
    page.goto(f"{compared}?tab=map")
    page.get_by_text("Unit and selection").click()
    page.get_by_label("Unit").select_option("ipc")
    expect(page).to_have_url(re.compile("unit=ipc"))
    page.get_by_label("Experiments with schemes").fill("memory:none")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("main")).to_contain_text("311 of 323 experiments")
    expect(page).to_have_url(re.compile("q=memory"))
    page.get_by_role("link", name="Bias by scheme").click()
    expect(page.locator(".bias-bar a").first).to_be_visible()
    page.locator(".bias-bar a").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("grade="))
    expect(page.locator("#schemes tbody tr").first).to_be_visible()


def test_the_pages_are_accessible_and_fit_a_phone(page: Page, compared: str, tolerated: list[str]):
    tolerated.append(TOLERATED)
    tabs = {"scores": compared, "map": f"{compared}?tab=map", "bias": f"{compared}?tab=schemes"}
    for name, path in tabs.items():
        page.goto(path)
        if name != "bias":
            page.locator(".plot-area").first.scroll_into_view_if_needed()
            expect(page.locator(".main-svg").first).to_be_visible()
        assert_sound(page, f"comparison {name}")
