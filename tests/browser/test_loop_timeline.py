"""The timeline of a loop in the browser: drawn, walked by keys, folded, zoomed, downloaded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound
from tests.browser.visiting import visit

CHAIN = "imul rax, rbx\nadd rcx, [rsi]\nadd rcx, rax"
PORTLESS = "cpuid\nadd rax, rbx"
COLOURS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  for (let at = 0; at < data.length; at += 4) colours.add(data.slice(at, at + 3).join(" "));
  return colours.size;
}"""

FILES = [("SVG", ".svg", "<svg"), ("Trace", ".trace.json", "traceEvents"), ("Text", ".txt", "DeeeER")]


def open_timeline(page: Page, code: str, **fields: str) -> None:
    visit(page, f"/loop/?{urlencode({'code': code, 'cpu': 'Recorded Zen 4', **fields})}")
    page.locator("#loop-timeline").scroll_into_view_if_needed()


@pytest.fixture
def timeline(page: Page) -> Page:
    open_timeline(page, CHAIN)
    expect(page.locator("#loop-timeline [data-message]")).to_contain_text("3.0")
    return page


def frame(page: Page) -> Any:
    return page.get_by_role("application", name="Timeline")


def sentence(page: Page) -> Any:
    return page.locator("#loop-timeline [data-sentence]")


def scrolled(page: Page) -> dict[str, float]:
    script = "(frame) => ({ x: frame.scrollLeft, y: frame.scrollTop, height: frame.scrollHeight })"
    offsets: dict[str, float] = frame(page).evaluate(script)
    return offsets


def test_the_drawing_has_the_colours_of_its_ports_and_follows_the_theme(timeline: Page) -> None:
    canvas = frame(timeline).locator("canvas")
    assert canvas.evaluate(COLOURS) > 10
    background = "(canvas) => canvas.getContext('2d').getImageData(2, 2, 1, 1).data[0]"
    assert canvas.evaluate(background) == 255
    timeline.emulate_media(color_scheme="dark")
    timeline.wait_for_timeout(200)
    assert canvas.evaluate(background) < 50


def test_keys_walk_from_uop_to_uop_and_follow_what_they_wait_for(timeline: Page) -> None:
    frame(timeline).focus()
    timeline.keyboard.press("Home")
    expect(sentence(timeline)).to_contain_text("imul rax, rbx, iteration 0")
    while "imul rax, rbx, iteration 1" not in sentence(timeline).inner_text():
        timeline.keyboard.press("ArrowDown")
    expect(sentence(timeline)).to_contain_text(
        re.compile(r"Waits for rax from imul rax, rbx of the iteration before, until cycle \d+\.")
    )
    timeline.keyboard.press("Enter")
    expect(sentence(timeline)).to_contain_text("imul rax, rbx, iteration 0")
    timeline.keyboard.press("End")
    expect(sentence(timeline)).to_contain_text("add rcx, rax, iteration 19")
    assert scrolled(timeline)["y"] > 0
    assert scrolled(timeline)["x"] > 0, "the cycles of the row are in view"


def test_a_pointer_marks_the_phase_below_it(timeline: Page) -> None:
    box = frame(timeline).bounding_box()
    timeline.mouse.move(box["x"] + 60, box["y"] + 35)
    expect(sentence(timeline)).to_contain_text("imul rax, rbx, iteration 0 Dispatched in cycle 0.")
    names = "(frame) => [...Array(400).keys()].find((x) => x > 100 && x % 4 === 0)"
    for x in range(int(frame(timeline).evaluate(names)), int(box["width"]) - 20, 6):
        timeline.mouse.move(box["x"] + x, box["y"] + 35)
        if sentence(timeline).locator("mark").count():
            break
    expect(sentence(timeline).locator("mark")).to_have_text(re.compile("Executes|Dispatched|Done"))


def test_iterations_fold_and_cycles_zoom(timeline: Page) -> None:
    before = scrolled(timeline)["height"]
    timeline.get_by_role("button", name="Fold iterations").click()
    timeline.wait_for_timeout(200)
    assert scrolled(timeline)["height"] < before / 2
    expect(timeline.get_by_role("button", name="Fold iterations")).to_have_attribute("aria-pressed", "true")
    timeline.get_by_role("button", name="Fold iterations").click()
    frame(timeline).focus()
    timeline.keyboard.press("Home")
    timeline.keyboard.press("Space")
    timeline.wait_for_timeout(200)
    folded = scrolled(timeline)["height"]
    assert before / 2 < folded < before
    for _ in range(5):
        timeline.keyboard.press("-")
    timeline.wait_for_timeout(200)
    assert scrolled(timeline)["height"] < folded
    timeline.get_by_role("button", name="Fit").click()
    assert frame(timeline).evaluate("(frame) => frame.scrollWidth <= frame.clientWidth + 1")


def test_the_drawing_follows_the_code_and_the_number_of_iterations(timeline: Page) -> None:
    message = timeline.locator("#loop-timeline [data-message]")
    editor = timeline.get_by_role("textbox", name="Code")
    editor.focus()
    timeline.keyboard.press("Control+a")
    timeline.keyboard.insert_text("imul rax, rbx\nimul rax, rcx")
    expect(message).to_contain_text("6.00 cycles per iteration")
    with timeline.expect_response(re.compile("timeline.json")):
        timeline.get_by_label("Iterations", exact=True).fill("3")
        timeline.keyboard.press("Tab")
    expect(timeline.locator("[data-iteration]")).to_contain_text("iteration 2;")
    frame(timeline).focus()
    timeline.keyboard.press("End")
    expect(sentence(timeline)).to_contain_text("iteration 2 ")
    expect(timeline).to_have_url(re.compile("code=imul"))


def test_a_block_that_cannot_be_simulated_says_what_is_missing(page: Page) -> None:
    open_timeline(page, PORTLESS, unknown="unsupported")
    message = page.locator("#loop-timeline [data-message]")
    expect(message).to_contain_text("cpuid")
    expect(frame(page)).to_be_hidden()
    editor = page.get_by_role("textbox", name="Code")
    editor.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("imul rax, rbx")
    expect(message).to_contain_text("3.00 cycles per iteration")
    expect(frame(page)).to_be_visible()


@pytest.mark.parametrize(("name", "ending", "content"), FILES)
def test_files_have_the_iterations_of_the_drawing(
    timeline: Page, name: str, ending: str, content: str
) -> None:
    timeline.get_by_label("Iterations", exact=True).fill("2")
    timeline.locator(".timeline-files summary").click()
    with timeline.expect_download() as download:
        timeline.get_by_role("button", name=re.compile(f"^{name}")).click()
    assert download.value.suggested_filename.endswith(ending)
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert content in text
    if ending == ".trace.json":
        iterations = {event.get("args", {}).get("iteration") for event in json.loads(text)["traceEvents"]}
        assert iterations == {None, 0, 1}


def test_the_last_iteration_is_a_table_for_readers_of_the_screen(timeline: Page) -> None:
    timeline.get_by_text("The last iteration as a table").click()
    table = timeline.get_by_role("region", name="The last iteration").get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(5)
    expect(table.get_by_role("row", name=re.compile("^imul"))).to_contain_text(
        "Waits for rax from imul rax, rbx"
    )


def test_the_timeline_is_accessible_and_fits_a_phone(timeline: Page, tolerated: list[str]) -> None:
    tolerated.append(TOLERATED)
    timeline.get_by_text("The last iteration as a table").click()
    frame(timeline).focus()
    assert_sound(timeline, "loop-timeline")
