"""What a new user does first: look, load the example, look around in it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect


def test_the_start_page_lists_the_first_steps_and_loads_the_example(page: Page):
    page.goto("/")
    steps = page.locator("ol.checklist > li")
    expect(steps).to_have_count(7)
    page.get_by_role("button", name="Load the example").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Zen 4")
    page.goto("/")
    expect(steps.filter(has_text="recorded example")).to_have_class("done")


@pytest.mark.usefixtures("example")
def test_the_example_says_what_it_was_measured_on_and_that_this_is_not_here(page: Page):
    for path in ("/sets/", "/mappings/"):
        page.goto(path)
        page.get_by_role("link", name=re.compile("^Example: Zen 4")).first.click()
        expect(page.locator("main")).to_contain_text("AMD EPYC (Zen 4")
    page.goto("/machines/")
    row = page.locator("tbody tr", has=page.get_by_role("link", name=re.compile("^Example: ")))
    expect(row).to_contain_text("has measurements, cannot measure")
    row.get_by_role("link").click()
    expect(page.locator("main")).to_contain_text("no agent answers")


@pytest.mark.usefixtures("example")
def test_every_number_leads_to_what_it_came_from(page: Page):
    page.goto("/mappings/")
    page.locator("tbody tr a").first.click()
    page.get_by_role("link", name="Accuracy").click()
    expect(page.locator(".plot-area .main-svg").first).to_be_visible()
    page.locator("main tbody a[href^='/experiments/']").first.click()
    expect(page).to_have_url(re.compile(r"/experiments/\d+/"))
    expect(page.locator("main svg").first).to_be_visible()


def test_the_scheme_table_searches_while_typing_and_keeps_the_search_in_the_address(page: Page):
    page.goto("/isas/")
    page.get_by_role("link", name="x86-64").first.click()
    page.wait_for_url(re.compile(r"/isas/\d+/"))  # and until its scripts listen
    page.locator("input[data-search]").fill("mnemonic:imul -memory:R")
    expect(page).to_have_url(re.compile(r"q=mnemonic%3Aimul"))
    first = page.locator("tbody tr").first
    expect(first).to_contain_text("imul")
    page.reload()
    expect(page.locator("input[data-search]")).to_have_value("mnemonic:imul -memory:R")
    first.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"/i/x86-64/imul/#scheme-\d+"))


def test_a_search_that_cannot_be_understood_names_the_keys_there_are(page: Page, tolerated: list[str]):
    tolerated.append("status of 400")
    page.goto("/isas/")
    page.get_by_role("link", name="x86-64").first.click()
    page.goto(page.url + "?q=colour:red")
    expect(page.get_by_role("alert")).to_contain_text("mnemonic")


def test_about_names_what_is_missing_and_how_to_install_it(page: Page):
    page.goto("/about/")
    expect(page.get_by_role("row", name=re.compile("^Chromium"))).to_contain_text("chromium")
    expect(page.get_by_role("row", name=re.compile("^numba"))).to_contain_text(re.compile(r"\d+\.\d+"))
