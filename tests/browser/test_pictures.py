"""The pictures from the inside: the graph searched, folded and walked, the heat map's bins, lit buckets."""

from __future__ import annotations

import contextlib
import re

import playwright.sync_api
import pytest
from playwright.sync_api import Page, expect

from tests.browser.problem import USAGE


@pytest.fixture
def mapping_path(page: Page, example: None) -> str:
    """The address of the example's mapping."""
    page.goto("/mappings/")
    path = page.get_by_role("link", name="Example: Zen 4, by PMEvo", exact=True).get_attribute("href")
    assert path is not None
    return path


def test_a_search_in_the_graph_is_kept_in_the_address(page: Page, mapping_path: str):
    page.goto(mapping_path)
    everything = page.locator("[data-graph-status]").inner_text()
    page.locator("[data-graph-search]").fill("add -MEM")
    expect(page).to_have_url(re.compile(r"find=add"))
    expect(page.locator("[data-graph-status]")).not_to_have_text(everything)
    searched = page.locator("[data-graph-status]").inner_text()
    page.reload()
    expect(page.locator("[data-graph-status]")).to_have_text(searched)
    expect(page.locator("[data-graph-search]")).to_have_value("add -MEM")


def test_a_port_of_the_legend_is_pinned_and_its_graph_stands_alone(page: Page, mapping_path: str):
    page.goto(mapping_path)
    page.locator("[data-pin=p1]").click()
    expect(page.locator("[data-graph-details] h2")).to_contain_text("Port")
    expect(page.locator(".node.lit.node-p")).to_have_count(1)
    before = page.locator("[data-graph-status]").inner_text()
    page.get_by_label("Only what is pinned").check()
    expect(page.locator("[data-graph-status]")).not_to_have_text(before)
    expect(page).to_have_url(re.compile(r"alone=1"))
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator("[data-graph-status]")).to_have_text(before)


def test_the_keyboard_walks_along_columns_and_edges_and_opens_groups(page: Page, mapping_path: str):
    page.goto(mapping_path)
    first = page.locator("[data-node=g0]")
    first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-node^=u]:focus")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-node^=p]:focus")).to_have_count(1)
    page.keyboard.press("Home")
    expect(page.locator("[data-node=p0]")).to_be_focused()
    folded = page.locator("[data-node^=g][aria-expanded=false]").first
    if folded.count():
        name = folded.get_attribute("data-node")
        folded.focus()
        page.keyboard.press(" ")
        expect(page.locator(f"[data-node={name}]")).to_have_attribute("aria-expanded", "true")
        expect(page.locator("[data-node^=s]").first).to_be_visible()
        expect(page).to_have_url(re.compile(r"open=\d"))


def test_a_bin_that_is_clicked_lists_its_experiments(page: Page, mapping_path: str):
    page.goto(f"{mapping_path}?tab=accuracy")
    area = page.locator(".plot-area .nsewdrag").first
    expect(area).to_be_attached()
    worst = page.locator("#bin h2").inner_text()
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    for share in (k / 40 for k in range(1, 40)):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + (1 - share) * box["height"])
        with contextlib.suppress(playwright.sync_api.TimeoutError):  # nothing is drawn there
            page.wait_for_url(re.compile(r"bin=\d+%2C\d+"), timeout=500)
            break
    expect(page).to_have_url(re.compile(r"bin=\d+%2C\d+"))
    expect(page.locator("#bin h2")).not_to_have_text(worst)
    found = re.match(r"[\d,]+", page.locator("#bin h2").inner_text())
    assert found is not None
    listed = page.locator("#bin tbody tr").count()
    assert listed == min(int(found[0].replace(",", "")), 50)


def test_the_arrow_keys_walk_over_filled_bins_and_enter_lists_one(page: Page, mapping_path: str):
    page.goto(f"{mapping_path}?tab=accuracy")
    expect(page.locator(".plot-area .nsewdrag").first).to_be_attached()
    page.get_by_text("How to read this").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".plot-area.clickable")).to_be_focused()
    marked = page.locator("[data-marked]")
    expect(marked).to_contain_text("experiment")
    first = marked.inner_text()
    page.keyboard.press("ArrowRight")
    expect(marked).not_to_have_text(first)
    said = marked.inner_text()
    count = re.search(r"([\d,]+) experiment", said)
    assert count is not None
    expect(page.locator(".shapelayer path")).to_have_count(3)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"bin=\d+%2C\d+"))
    expect(page.locator("#bin h2")).to_contain_text(f"{count[1]} of the experiments")
    expect(page.locator("#bin .table-count")).to_contain_text(said.rpartition(", ")[0])
    page.reload()
    expect(page.locator(".shapelayer path")).to_have_count(3)


def test_the_graph_has_no_frame_around_it_when_a_node_has_the_focus(page: Page, mapping_path: str):
    page.goto(mapping_path)
    page.locator("[data-node=g0] .hit").click()
    expect(page.locator("[data-node=g0]")).to_be_focused()
    shadow = "element => getComputedStyle(element).boxShadow"
    assert page.locator(".graph-scroll svg").evaluate(shadow) == "none"


def test_a_long_name_fits_on_one_line_beside_or_above_its_actions(page: Page, mapping_path: str):
    page.goto(mapping_path)
    heading = page.locator("h1")
    heading.evaluate("element => { element.textContent = 'Zen 2, all schemes, seed 7, second attempt'; }")
    box = heading.bounding_box()
    assert box is not None
    assert box["height"] < 50


def test_a_phone_shows_no_label_without_a_value(page: Page, measurements: str):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/runs/")
    row = page.locator("tbody tr").filter(has_text="import").first
    labelled = [cell for cell in row.locator("td[data-label]").all() if cell.is_visible()]
    assert all(cell.inner_text().strip() for cell in labelled)


def test_buckets_keep_their_size_and_a_narrow_page_says_that_they_go_on(page: Page, example: None):
    address = f"/experiments/?e={next(iter(USAGE))}&stay=1"
    widths = []
    for width in (1700, 240):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(address)
        wall = page.locator(".buckets .wall").first.bounding_box()
        assert wall is not None
        widths.append(wall["width"])
        expect(page.locator("[data-scroll-hint]")).to_be_visible(visible=width == 240)
    assert widths[0] == widths[1]


def test_a_scheme_of_the_list_lights_its_blocks_in_the_buckets(page: Page, example: None):
    page.goto(f"/experiments/?e={next(iter(USAGE))}&stay=1")
    row = page.locator("tr[data-letter=A]")
    row.focus()
    blocks = page.locator(".block[data-letter=A]")
    expect(blocks.first).to_have_class(re.compile(r"\blit\b"))
    assert blocks.count() == page.locator(".block.lit").count()


def test_the_pictures_follow_a_change_of_the_theme(page: Page, mapping_path: str):
    page.emulate_media(color_scheme="light")
    page.goto(f"{mapping_path}?tab=accuracy")
    label = page.locator(".plot-area .xtick text").first
    expect(label).to_be_visible()
    light = label.evaluate("element => getComputedStyle(element).fill")
    page.emulate_media(color_scheme="dark")
    expect(label).not_to_have_css("fill", light)
