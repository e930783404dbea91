"""Explain a loop in the browser: the answer follows the keys, errors stand at their line."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound
from tests.browser.visiting import visit

BAD_REQUEST = "400"
TWO_LOOPS = "a:\nadd rax, [rsi]\nadd rsi, 8\ndec rcx\njne a\nret\nb:\nimul rdx, rax\ndec r8\njne b"


@pytest.fixture
def loop(page: Page) -> Page:
    visit(page, "/loop/")
    expect(editor(page)).to_be_visible()
    return page


def editor(page: Page):
    return page.get_by_role("textbox", name="Code")


def write(page: Page, text: str) -> None:
    """Replace the code by keys alone."""
    editor(page).focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_the_answer_follows_the_keys_and_the_address_follows_too(loop: Page) -> None:
    verdict = loop.locator("#loop-verdict")
    write(loop, "imul rax, rbx")
    expect(verdict).to_contain_text("3.0 cycles")
    write(loop, "imul rax, rbx\nimul rax, rcx")
    expect(verdict).to_contain_text("6.0 cycles")
    expect(loop.locator("#loop-status")).to_contain_text("6.0 cycles")
    expect(loop).to_have_url(re.compile("code=imul"))
    shared = loop.url
    loop.goto("/")
    loop.goto(shared)
    expect(verdict).to_contain_text("6.0 cycles")
    loop.get_by_text("Settings", exact=True).click()
    loop.get_by_label("Code without a jump").select_option("unrolled, straight")
    expect(loop).to_have_url(re.compile("mode=unrolled"))


def test_an_error_stands_at_its_line_and_the_last_answer_stays(loop: Page, tolerated: list[str]) -> None:
    tolerated.append(BAD_REQUEST)
    write(loop, "imul rax, rbx")
    answer = loop.locator("#loop-answer")
    expect(answer).to_contain_text("3.0 cycles")
    write(loop, "imul rax, rbx\nfrobnicate rax")
    expect(loop.get_by_role("alert")).to_contain_text("Line 2")
    expect(loop.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(answer).to_contain_text("3.0 cycles")
    expect(answer).to_have_attribute("data-pending", "")
    write(loop, "add rax, rbx")
    expect(answer).to_contain_text("1.0 cycles")
    expect(answer).not_to_have_attribute("data-pending", "")
    expect(loop.locator(".cm-lint-marker-error")).to_have_count(0)
    expect(loop.get_by_role("alert")).to_have_count(0)


def test_the_keyboard_gets_in_and_out_of_the_editor(loop: Page) -> None:
    editor(loop).focus()
    loop.keyboard.press("Control+End")
    loop.keyboard.press("Tab")
    expect(editor(loop)).to_be_focused()
    loop.keyboard.press("/")
    expect(editor(loop)).to_be_focused()
    loop.keyboard.press("Escape")
    loop.keyboard.press("Tab")
    expect(editor(loop)).not_to_be_focused()


def test_a_click_opens_another_loop_of_the_text(loop: Page) -> None:
    write(loop, TWO_LOOPS)
    pieces = loop.get_by_role("navigation", name="Loops and blocks of this code")
    expect(pieces.locator("[aria-current]")).to_contain_text("a")
    pieces.get_by_role("link", name=re.compile("^b ")).click()
    expect(loop.locator("#loop-verdict")).to_contain_text("3.0 cycles")
    expect(loop).to_have_url(re.compile("piece=2"))
    loop.reload()
    expect(pieces.locator("[aria-current]")).to_contain_text("b")


def test_long_code_fits_into_an_address(loop: Page) -> None:
    write(loop, "\n".join(f"add r{8 + number % 8}, {number}" for number in range(400)))
    expect(loop.locator("#loop-problem")).to_be_empty()
    expect(loop).to_have_url(re.compile("#code="))
    shared = loop.url
    assert len(shared) < 4000
    loop.goto("/")
    loop.goto(shared)
    expect(loop.locator("#loop-verdict")).to_contain_text("cycles")
    expect(editor(loop)).to_contain_text("add r15")


def test_the_start_page_leads_here(page: Page) -> None:
    visit(page, "/")
    page.get_by_label("Explain a loop").fill("imul rax, rbx\n" * 300)
    page.get_by_role("button", name="Explain").click()
    # 300 times 3.00, as measured
    expect(page.locator("#loop-verdict")).to_contain_text(re.compile(r"(899|900) cycles"))


def test_without_scripts_a_button_explains(browser, address: str, session) -> None:
    context = browser.new_context(base_url=address, storage_state=session, java_script_enabled=False)
    page = context.new_page()
    page.goto("/loop/")
    page.get_by_label("Code", exact=True).fill("imul rax, rbx\nimul rax, rcx")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#loop-verdict")).to_contain_text("6.0 cycles")
    context.close()


def test_the_page_is_accessible_and_fits_a_phone(loop: Page, tolerated: list[str]) -> None:
    tolerated += [TOLERATED, BAD_REQUEST]
    write(loop, TWO_LOOPS)
    expect(loop.locator(".loop-pieces")).to_be_visible()
    assert_sound(loop, "loop")
    write(loop, "frobnicate")
    expect(loop.get_by_role("alert")).to_be_visible()
    assert_sound(loop, "loop-problem")
