"""Every page on a phone, in the dark, and from the keyboard."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import TOLERATED, violations
from tests.browser.looks import (
    MAX_BYTES_BEFORE_PAINT,
    MAX_SHIFT,
    PHONE,
    SCREEN,
    bytes_before_picture,
    layout_shift,
    picture,
)
from tests.browser.visiting import overflow, visit

FIXED = (
    "/",
    "/infer/",
    "/runs/",
    "/mappings/",
    "/sets/",
    "/sets/upload/",
    "/machines/",
    "/machines/add/",
    "/experiments/",
    "/resource-mappings/",
    "/blocks/",
    "/block-sets/",
    "/campaigns/",
    "/campaigns/new/",
    "/campaigns/matrices/",
    "/predictors/",
    "/isas/",
    "/search/?q=zen",
    "/glossary/",
    "/tour/",
    "/api/",
    "/about/",
    "/account/",
    "/account/password/",
    "/accounts/",
    "/accounts/invite/",
    "/audit/",
)


def found_paths(page: Page) -> list[str]:
    """One page of every family that has objects."""
    paths = []
    for listing, pattern in (
        ("/isas/", r"^/isas/\d+/"),
        ("/sets/", r"^/sets/\d+/$"),
        ("/mappings/", r"^/mappings/\d+/$"),
        ("/runs/", r"^/runs/\d+/$"),
    ):
        page.goto(listing)
        links = [link.get_attribute("href") or "" for link in page.locator("main a").all()]
        first = next((link for link in links if re.search(pattern, link)), None)
        if first is not None:
            paths.append(first)
            if first.startswith("/mappings/"):
                tabs = ("graph", "accuracy", "schemes", "doubts", "loop&code=imul+rax,rbx")
                paths += [f"{first}?tab={tab}" for tab in tabs]
            if re.match(r"^/(sets|mappings|runs)/", first):
                paths += [f"{first}edit/", f"{first}delete/"]
            if first.startswith(("/sets/", "/isas/")):
                page.goto(first)
                deeper = page.locator(
                    "main tbody a[href^='/experiments/'], main tbody a[href^='/schemes/']"
                ).first
                paths.append(deeper.get_attribute("href") or "")
    assert any(path.startswith("/experiments/") for path in paths)
    assert any(path.startswith("/mappings/") for path in paths)
    return paths


@pytest.mark.usefixtures("example", "measurements")
def test_every_page_is_accessible_soon_there_stands_still_and_fits_a_phone(page: Page, tolerated: list[str]):
    tolerated.append(TOLERATED)
    wide, broken, moved, late = {}, {}, {}, {}
    for path in [*FIXED, *found_paths(page)]:
        page.set_viewport_size(SCREEN)
        visit(page, path)
        if (shift := layout_shift(page)) > MAX_SHIFT:
            moved[path] = shift
        if (waited_for := bytes_before_picture(page)) > MAX_BYTES_BEFORE_PAINT:
            late[path] = waited_for
        picture(page, "screen", path)
        assert page.locator("h1:visible").count() == 1, path
        assert page.title(), path
        assert page.locator("main").count() == 1, path
        assert page.locator("details.page-help").count() == 1, path
        if found := violations(page):
            broken[path] = found
        page.set_viewport_size(PHONE)
        picture(page, "phone", path)
        if overflow(page) > 0:
            wide[path] = overflow(page)
    assert not wide
    assert not moved
    assert not late
    assert not broken, json.dumps(broken, indent=1)


def luminance(page: Page) -> float:
    """Mean of the background's channels, 0 to 255."""
    colour = page.evaluate(
        "getComputedStyle(document.body).backgroundColor === 'rgba(0, 0, 0, 0)'"
        " ? getComputedStyle(document.documentElement).backgroundColor"
        " : getComputedStyle(document.body).backgroundColor"
    )
    channels = [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]
    return sum(channels) / 3


@pytest.mark.usefixtures("example")
def test_the_pages_follow_the_dark_mode_of_the_system(page: Page):
    page.emulate_media(color_scheme="light")
    page.goto("/")
    assert luminance(page) > 200
    page.emulate_media(color_scheme="dark")
    for path in ("/", "/mappings/", "/infer/"):
        page.goto(path)
        assert luminance(page) < 80, path
        picture(page, "dark", path)


def test_the_theme_button_overrides_the_system_and_is_remembered(page: Page):
    page.emulate_media(color_scheme="light")
    page.goto("/")
    button = page.locator("[data-theme-toggle]")
    while button.get_attribute("aria-label") != "Theme: dark":
        button.click()
    assert luminance(page) < 80
    page.goto("/runs/")
    assert luminance(page) < 80


def test_the_keyboard_reaches_the_content_the_menus_and_the_search(page: Page):
    page.goto("/isas/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.get_by_role("link", name="x86-64").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/isas/\d+/"))  # and until its scripts listen to keys
    page.keyboard.press("/")
    expect(page.locator("input[data-search]")).to_be_focused()
    menu = page.locator("details.account-menu")
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")


def test_a_question_mark_shows_the_keys_of_the_page(page: Page):
    page.goto("/isas/")
    keys = page.locator("dialog.keys")
    page.locator("[data-site-search]").first.press("?")
    expect(keys).to_have_count(0)
    page.locator("#main").press("?")
    expect(keys).to_contain_text("search everything")
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)


FOCUS_CHANGES = """() => {
  const element = document.activeElement;
  const look = () => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor, top } = getComputedStyle(element);
    return JSON.stringify([outlineStyle, outlineWidth, boxShadow, borderColor, top]);
  };
  const focused = look();
  element.blur();
  const blurred = look();
  element.focus();
  return focused !== blurred;
}"""


def test_what_has_the_focus_looks_different(page: Page):
    visit(page, "/infer/")
    for _ in range(15):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUS_CHANGES), page.evaluate("document.activeElement.outerHTML")


@pytest.mark.parametrize("path", ["/runs/999999/", "/mappings/999999/", "/nowhere/"])
def test_a_page_that_is_not_there_says_so_and_leads_back(page: Page, path: str, tolerated: list[str]):
    tolerated.append("status of 404")
    page.goto(path)
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    page.get_by_role("link", name="Start page").click()
    expect(page).to_have_url("/")
