"""Explain a loop of AArch64 in the browser: pasted code chooses the CPU, each instruction has its row."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.conftest import upload
from tests.browser.looks import assert_sound
from tests.browser.visiting import visit

LOAD, ADD = "ldr GPR[64]:W, MEM[64,post]:R", "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
COMPARE = "cmp GPR[64]:R, GPR[64]:R"
SUM = "sum:\n.L3:\n\tldr\tx2, [x0], 8\t// a[i]\n\tadd\tx1, x1, x2\n\tcmp\tx0, x3\n\tbne\t.L3\n\tret\n"
ALU, LOADS = [{"ports": ["a", "b"], "count": 1}], [{"ports": ["l"], "count": 1}]
CORE = {
    "format": "pmweb-core-model",
    "version": 1,
    "name": "Arm in a browser",
    "isa": "AArch64",
    "mapping": {
        "ports": ["a", "b", "l"],
        "limits": {"slots": 3.0},
        "usage": {LOAD: LOADS, ADD: ALU, COMPARE: ALU},
    },
    "latencies": {
        LOAD: [
            {"source": "2 address", "destination": "1", "cycles": 4.0},
            {"source": "2 address", "destination": "base", "cycles": 1.0},
        ],
        ADD: [{"source": source, "destination": "1", "cycles": 2.0} for source in ("2", "3")],
    },
}


@pytest.fixture
def loop(page: Page) -> Page:
    upload(page, **{"arm.json": json.dumps(CORE).encode()})
    page.get_by_role("button", name=re.compile("^Import ")).click()
    expect(page).to_have_url(re.compile(r"/core-models/\d+/"))
    visit(page, "/loop/")
    return page


def test_a_pasted_loop_of_aarch64_is_explained(loop: Page, tolerated: list[str]) -> None:
    tolerated.append(TOLERATED)
    code = loop.get_by_role("textbox", name="Code")
    expect(code).to_be_visible()
    code.focus()
    loop.keyboard.press("Control+a")
    loop.keyboard.insert_text(SUM)
    expect(loop.locator("#loop-verdict")).to_contain_text("waits for its own result in x1")
    answer = loop.locator("#loop-answer")
    expect(answer).to_contain_text("2.0 cycles")
    for text in ("ldr x2, [x0], #8", "add x1, x1, x2", "cmp x0, x3", "b.ne"):
        expect(answer).to_contain_text(text)
    expect(loop.locator("[data-cpu]").first).to_have_attribute("data-cpu", CORE["name"])
    shared = loop.url
    visit(loop, shared)
    expect(loop.locator("#loop-verdict")).to_contain_text("waits for its own result in x1")
    assert_sound(loop, "loop-aarch64")
