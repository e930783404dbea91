"""Basic blocks in the browser: pasted, decoded, put right, measured on a simulated agent's machine."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect


@pytest.mark.usefixtures("example")
def test_a_block_is_pasted_decoded_and_put_right(page: Page, tolerated: list[str]):
    tolerated.append(r"400 \(Bad Request\)")  # the first block is refused
    page.goto("/blocks/")
    code = page.get_by_label("Basic blocks")
    code.fill("add rax, rbx\njne again")
    page.get_by_role("button", name="Decode").last.click()
    expect(page.get_by_text("line 2: jne changes the control flow")).to_be_visible()
    code.fill("add rax, rbx\nvpaddd ymm1, ymm2, [rdi]")
    page.get_by_role("button", name="Decode").last.click()
    expect(page).to_have_url(re.compile(r"/blocks/\?code=add"))
    expect(page.get_by_role("heading", name="Block 1")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("4801d8"))).to_contain_text("add")
    page.reload()
    expect(page.get_by_label("Basic blocks")).to_have_value(re.compile("vpaddd ymm1"))
