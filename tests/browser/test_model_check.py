"""The check of the port mapping model in the browser: from a machine's page to tables that fill."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_machines import MAPPING, add, agents
from tests.browser.visiting import overflow

__all__ = ["agents"]


@pytest.mark.usefixtures("example")
def test_a_machine_is_checked_and_its_tables_fill(page: Page, agents: Any):
    server, token = add(page, "checked")
    agents(server, token)
    page.get_by_role("link", name="Open checked").click()
    expect(page.locator("#machine-state .badge").first).to_have_text("idle")
    page.reload()
    page.get_by_role("button", name="Measure", exact=True).click()
    page.get_by_role("link", name="Check the model").click()
    page.get_by_label("Reference").select_option(label=f"{MAPPING} (x86-64)")
    page.get_by_label("Schemes").select_option("filter")
    page.get_by_label("Search").fill("add memory:none")
    expect(page.locator("#scheme-count")).to_contain_text("add")
    page.get_by_label("Mixes of each length").fill("12")
    page.get_by_label("Mixes to reorder").fill("4")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))

    # nobody loads the page again: the journal rings
    expect(page.locator("#run-state[data-state=done]")).to_be_visible()
    expect(page.locator("#model-mixes tbody tr")).to_have_count(9)
    expect(page.locator("#model-orders tbody tr")).to_have_count(10)
    for name in ("short", "full", "mixes"):
        expect(page.locator(f"[data-model-map={name}] .main-svg").first).to_be_visible()
    page.locator("#model-mixes").get_by_role("link", name="5", exact=True).click()
    expect(page.locator("[data-model-map=mixes] h2")).to_have_text("Mixes of 5 instructions")
    page.locator("#model-list").get_by_role("link", name="within 10 %").click()
    expect(page.locator("#model-rows tbody th a").first).to_contain_text("add")
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflow(page) <= 0
