"""The answer about a loop in the browser: dependencies, evidence and changes, by the keyboard alone."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound

CHAIN = ".l:\nimul rax, rbx\nadd rax, rcx\nsub rdx, 1\njne .l"


def explain(page: Page, **fields: str) -> None:
    page.goto(f"/loop/?{urlencode({'code': CHAIN, 'cpu': 'Recorded Zen 4', **fields})}")
    expect(page.locator("#loop-graph svg")).to_be_visible()


def test_a_dependency_is_taken_away_and_restored_by_the_keyboard(page: Page):
    explain(page)
    edge = page.locator("#edge-1-0-rax")
    edge.focus()
    page.keyboard.press("Enter")
    notice = page.locator("#loop-removed")
    expect(notice).to_contain_text("cycles instead of 4.0")
    expect(page).to_have_url(re.compile("without=1-0-rax"))
    expect(edge).to_be_focused()
    expect(edge).to_have_attribute(
        "aria-label", re.compile("from instruction 2 to 1 of the next iteration(, a bound)?: restore it$")
    )
    expect(page.locator(".loop-versions thead")).to_contain_text("Without rax")
    page.keyboard.press("Enter")
    expect(notice).to_have_count(0)
    expect(page).not_to_have_url(re.compile("without="))
    expect(edge).to_be_focused()
    expect(edge).to_have_attribute("aria-label", re.compile(": take it away$"))


def test_evidence_comes_with_the_focus_and_goes_with_escape(page: Page):
    explain(page)
    link = page.locator("#loop-instructions [data-evidence]").first
    link.focus()
    evidence = page.locator(".loop-evidence")
    expect(evidence).to_contain_text("Latency")
    expect(evidence).to_have_attribute("aria-label", "Evidence of imul rax, rbx")
    page.keyboard.press("Escape")
    expect(evidence).to_have_count(0)
    link.hover()
    expect(evidence).to_contain_text("Alone")
    page.locator("#loop-comparison-head").hover()
    link.blur()
    expect(evidence).to_have_count(0)


def test_versions_stand_side_by_side(page: Page):
    explain(page)
    page.locator("#loop-unroll-4").focus()
    page.keyboard.press("Enter")
    versions = page.locator(".loop-versions")
    expect(versions).to_contain_text("Unrolled ×4")
    expect(page.locator("#loop-unroll-4")).to_be_focused()
    page.locator("#loop-unroll-1").click()
    expect(versions).to_have_count(0)
    page.locator("#loop-keep").click()
    page.locator("#loop-drop").wait_for()
    explain(page, before=CHAIN.replace("imul", "add"))
    expect(versions).to_contain_text("A: before")
    expect(page.locator(".loop-diff del")).to_have_text("add rax, rbx")
    page.locator("#loop-drop").click()
    expect(versions).to_have_count(0)


def test_the_sections_are_accessible_and_fit_a_phone(page: Page, tolerated: list[str]):
    tolerated.append(TOLERATED)
    explain(page, before=CHAIN.replace("imul", "add"), without="1-0-rax", unroll="2")
    page.locator("#loop-instructions [data-evidence]").first.focus()
    expect(page.locator(".loop-evidence")).to_contain_text("Latency")
    assert_sound(page, "loop-sections")


def test_links_work_without_scripts(browser: Browser, address: str, session: Any):
    context = browser.new_context(base_url=address, storage_state=session, java_script_enabled=False)
    page = context.new_page()
    explain(page)
    page.locator("#edge-1-0-rax .chip").click()
    expect(page.locator("#loop-removed")).to_contain_text("instead of")
    page.locator("#loop-unroll-2").click()
    expect(page.locator(".loop-versions")).to_contain_text("Unrolled ×2")
    expect(page.locator("#loop-removed")).to_contain_text("instead of")
    context.close()
