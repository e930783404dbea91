"""What is done every day: the way by keyboard alone, the search box, a loop tried, a table taken away."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import RUN_MILLISECONDS

MAX_STOPS = 250


def reach(page: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus."""
    expect(wanted).to_be_attached()
    for _ in range(MAX_STOPS):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {wanted}")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    """Reach something and press a key there."""
    reach(page, wanted)
    page.keyboard.press(key)


def fill(page: Page, name: str, value: str) -> None:
    """Reach a field and write into it."""
    press(page, page.locator(f"[name={name}]"), "Control+a")
    page.keyboard.type(value)


def test_from_inference_to_export_by_keyboard_alone(page: Page, measurements: str):
    page.goto("/")
    press(page, page.get_by_role("navigation", name="Main").get_by_role("link", name="Infer"))
    page.wait_for_url("**/infer/")
    reach(page, page.locator("[name=source]:checked"))
    chosen = page.get_by_role("radio", name="measurements")
    for _ in range(page.locator("[name=source]").count()):
        if not chosen.is_checked():
            page.keyboard.press("ArrowDown")
    expect(chosen).to_be_checked()
    press(page, page.get_by_role("checkbox", name=re.compile(f"^{measurements}")), "Space")
    press(page, page.get_by_text("Settings of PMEvo"))
    for name, value in (("set_ports", "3"), ("set_population", "50"), ("set_max_generations", "3")):
        fill(page, name, value)
    fill(page, "name", "by keyboard")
    press(page, page.get_by_role("button", name="Start", exact=True))
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
    press(page, page.get_by_role("link", name="Open result"))
    page.wait_for_url(re.compile(r"/mappings/\d+/"))
    mapping = urlparse(page.url).path
    press(page, page.get_by_role("link", name="Accuracy", exact=True))
    page.wait_for_url("**tab=accuracy**")
    press(page, page.locator("#bin a[href^='/experiments/']").first)
    page.wait_for_url(re.compile(r"/experiments/\d+/"))
    expect(page.locator("[data-buckets]").first).to_be_visible()
    press(page, page.locator(f"main a[href^='{mapping}']").first)
    page.wait_for_url(f"**{mapping}**")
    press(page, page.get_by_role("button", name="Export", exact=True))
    with page.expect_download() as download:
        press(page, page.locator(".export-menu a[href$='format=json']"))
    written = json.loads(Path(download.value.path()).read_text())
    assert written["provenance"]["made by"].startswith("pmweb ")


@pytest.mark.usefixtures("example")
def test_the_search_box_finds_names_and_leads_pasted_code_to_its_page(page: Page):
    page.goto("/machines/")
    page.keyboard.press("/")
    field = page.locator("#site-search")
    expect(field).to_be_focused()
    page.keyboard.type("zen pmevo")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/**")
    press(page, page.get_by_role("link", name="Example: Zen 4, by PMEvo", exact=True))
    page.wait_for_url(re.compile(r"/mappings/\d+/"))
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.insert_text("add rax, rbx\nimul rcx, rdx")  # as a paste does: its line break stays
    page.keyboard.press("Enter")
    page.wait_for_url("**/loop/**")
    expect(page.locator("#loop-answer")).to_contain_text("imul rcx, rdx")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("link", name="Find anything").click()
    expect(page.locator("#search-here")).to_be_visible()


@pytest.mark.usefixtures("example")
def test_a_loop_is_predicted_while_it_is_written_and_its_table_leaves_whole(page: Page):
    page.goto("/tour/")
    page.get_by_role("link", name="Try this loop").click()
    cycles = page.locator("#results .facts .figure").first
    before = cycles.inner_text()
    page.get_by_label("Body of the loop").press_sequentially("imul r10, r11\nimul r12, r13\n")
    expect(cycles).not_to_have_text(before)
    expect(page).to_have_url(re.compile("r12"))
    lines = taken(page, page.get_by_role("button", name="CSV", exact=True))
    assert lines[0].startswith("# made by: pmweb ")
    assert lines[2].startswith("# cite: ")
    assert lines[-1].split(",")[1] == "All"


@pytest.mark.usefixtures("example")
def test_a_table_of_several_pages_leaves_with_all_of_them(page: Page):
    page.goto("/isas/")
    page.get_by_role("link", name="x86-64").first.click()
    page.goto(f"{page.url}?q=ext:AVX2")
    total = int(re.match(r"\d+", page.locator(".table-count").inner_text())[0])
    assert total > page.locator("main tbody tr").count()
    lines = taken(page, page.get_by_role("link", name="CSV of all of these"))
    assert len([line for line in lines if not line.startswith("#")]) == 1 + total


def taken(page: Page, button: Locator) -> list[str]:
    """The lines of the file that a button gives."""
    with page.expect_download() as download:
        button.click()
    return Path(download.value.path()).read_text().splitlines()
