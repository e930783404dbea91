"""Explainable inference in the browser: the funnel fills while it goes on, and a stage opens its list."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from inference.formats.mapping_json import write_mapping_json
from tests.browser.conftest import RUN_MILLISECONDS, import_file
from tests.browser.visiting import overflow
from tests.core.explain.small import mapping_of

TRUTH = mapping_of(
    "0123456",
    {
        "add GPR[64]:RW, GPR[64]:R": "0123",
        "andn GPR[64]:W, GPR[64]:R, GPR[64]:R": "0123",
        "imul GPR[64]:RW, GPR[64]:R": "1",
        "popcnt GPR[64]:W, GPR[64]:R": "1",
        "shl GPR[64]:RW, IMM[8]:R": "12",
        "mov GPR[64]:W, MEM[64]:R": "45",
        "vpaddd YMM:W, YMM:R, YMM:R": "6",
        "vpermd YMM:W, YMM:R, YMM:R": "6",
        "vpmulld YMM:W, YMM:R, YMM:R": "6 6",
        "add GPR[64]:RW, MEM[64]:R": "0123 45",
        "imul GPR[64]:RW, MEM[64]:R": "1 45",
        "bswap GPR[64]:RW": "0 0 12",
    },
    r_max=6.0,
)
"""Nothing blocks port 0 alone, so that `bswap` takes longer than what can be found of it."""


def test_the_funnel_fills_and_a_stage_says_whom_it_left_out(page: Page):
    document = write_mapping_json(TRUTH, name="seven ports", isa="x86-64")
    import_file(page, "seven-ports.json", json.dumps(document).encode())
    page.goto("/infer/?algorithm=explain")
    page.get_by_role("radio", name="A simulated processor").check()
    page.locator("[name=mapping]").select_option(label="seven ports")
    page.locator("[name=noise]").fill("0")
    page.locator("[name=counters]").select_option(label="of all µops")
    expect(page.locator("#how")).to_contain_text("Settings of Explainable inference")
    expect(page.locator("[name=set_ports]")).to_have_value("")
    expect(page.locator("#scheme-count")).to_contain_text("12 schemes")
    page.locator("[name=name]").fill("every µop explained")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))

    # nobody loads the page again: the journal rings
    expect(page.locator("#stage-alone .through")).to_have_count(1, timeout=RUN_MILLISECONDS)
    expect(page.locator("#run-blocking tbody tr")).to_have_count(5, timeout=RUN_MILLISECONDS)
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
    expect(page.locator("#run-funnel li.done")).to_have_count(7)
    expect(page.locator("#stage-remaining .funnel-left")).to_contain_text("11")
    expect(page.locator("#run-tally .figure").first).to_have_text("12")
    expect(page.locator("#run-blocking .port").first).to_be_visible()

    page.locator("#stage-remaining").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?stage=remaining#left-out"))
    rows = page.locator("#left-out-list tbody tr:not(.group)")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("bswap")
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflow(page) <= 0
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("link", name="Open result").click()
    page.wait_for_url(re.compile(r"/mappings/\d+/"))
