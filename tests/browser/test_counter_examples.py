"""Counter-examples in the browser: candidates appear while the search goes on, and it ends with a verdict."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from inference.core.mapping import PortMapping
from inference.formats.mapping_json import write_mapping_json
from tests.browser.conftest import RUN_MILLISECONDS, import_file

TRUTH = PortMapping(
    tuple("01234"),
    {
        "add GPR[64]:RW, GPR[64]:R": ((0b00111, 1),),
        "imul GPR[64]:RW, GPR[64]:R": ((0b00010, 1),),
        "shl GPR[64]:RW, IMM[8]:R": ((0b00101, 1),),
        "vpaddd YMM:W, YMM:R, YMM:R": ((0b11000, 1),),
        "vpermd YMM:W, YMM:R, YMM:R": ((0b10000, 1),),
    },
)


def test_candidates_are_seen_live_and_explain_the_result_afterwards(page: Page):
    document = write_mapping_json(TRUTH, name="five ports", isa="x86-64")
    import_file(page, "five-ports.json", json.dumps(document).encode())
    page.goto("/infer/")
    page.get_by_role("radio", name="A simulated processor").check()
    page.locator("[name=mapping]").select_option(label="five ports")
    page.locator("[name=noise]").fill("0")
    page.locator("[name=algorithm]").select_option("cegar")
    expect(page.locator("#how")).to_contain_text("Settings of CEGAR")
    expect(page.locator("[name=set_ports]")).to_have_value("")
    page.get_by_text("Known facts about the schemes").click()
    page.locator("[name=widths]").fill("imul GPR[64]:RW, GPR[64]:R: 1")
    page.locator("[name=name]").fill("by counter-examples")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))

    rows = page.locator("#candidates-log tbody tr")
    expect(rows.first).to_be_visible(timeout=RUN_MILLISECONDS)  # nobody reloads: the journal rings
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
    expect(page.locator(".notice.verdict")).to_contain_text("Unique")
    expect(page.locator("#found .matrix")).to_have_count(2)  # the imported truth stands beside it
    expect(page.locator("#found")).to_contain_text("Every scheme has the same ports")

    rows.first.get_by_role("link", name="1", exact=True).click()
    expect(page.locator("#candidates .matrix")).to_have_count(2)
    expect(page.locator("#candidates")).to_contain_text("First predicts")
    expect(page.locator("#candidates .mark").first).to_contain_text("≠")
    expect(page).to_have_url(re.compile(r"example=1"))

    page.get_by_role("link", name="Open result").click()
    page.get_by_role("link", name="Evidence").click()
    expect(page.locator(".notice.verdict")).to_contain_text("Unique")
