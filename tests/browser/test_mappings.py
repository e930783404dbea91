"""Mappings side by side, and as resource mappings: what a user does with two predictors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from inference.core.mapping import ports_in
from tests.browser.conftest import import_file
from tests.browser.problem import PORTS, USAGE
from tests.browser.visiting import overflow

CHANGED = "imul GPR[64]:RW, GPR[64]:R"


def as_json(usage: dict[str, tuple[tuple[int, int], ...]]) -> bytes:
    """A port mapping in PMEvo's format."""
    assignment = {
        scheme: [[PORTS[port] for port in ports_in(mask)] for mask, count in uops for _ in range(count)]
        for scheme, uops in usage.items()
    }
    return json.dumps({"kind": "Mapping3", "arch": {"ports": PORTS}, "assignment": assignment}).encode()


@pytest.fixture(scope="module")
def two_mappings(browser: Browser, address: str, session: Any) -> None:
    """Two port mappings that differ in the ports of one scheme."""
    context = browser.new_context(base_url=address, storage_state=session)
    page = context.new_page()
    import_file(page, "these ports.json", as_json(USAGE))
    import_file(page, "other ports.json", as_json({**USAGE, CHANGED: ((0b001, 1),)}))
    context.close()


@pytest.fixture
def here(page: Page, two_mappings: None) -> str:
    """The address of one of them."""
    page.goto("/mappings/")
    path = page.get_by_role("link", name="these ports", exact=True).get_attribute("href")
    assert path is not None
    return path


def test_two_mappings_are_compared_and_an_experiment_tells_them_apart(page: Page, here: str):
    page.goto(f"{here}?tab=compare")
    page.get_by_label("Compare with").select_option(label="other ports")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("status")).to_contain_text("of 10 common schemes use the same µops")
    first = page.locator("#results tbody a[href^='/schemes/']").first
    expect(first).to_have_text(CHANGED)
    page.get_by_role("region", name="Distinguished by").get_by_role("link").click()
    expect(page.get_by_role("heading", name="Predicted by")).to_be_visible()
    predicted = [
        page.locator("tr", has=page.get_by_role("link", name=name, exact=True))
        .locator("td")
        .first.inner_text()
        for name in ("these ports", "other ports")
    ]
    assert predicted[0] != predicted[1]


def test_the_schemes_that_differ_are_picked_without_a_button(page: Page, here: str):
    page.goto(f"{here}?tab=compare")
    page.get_by_label("Compare with").select_option(label="other ports")
    page.get_by_role("button", name="Compare").click()
    page.get_by_label("Schemes", exact=True).select_option(index=1)
    expect(page).to_have_url(re.compile(r"show="))
    count = page.locator("#results .table-count").get_by_text("1 of 10 schemes")
    expect(count).to_be_visible()
    page.reload()
    expect(count).to_be_visible()


def set_number(page: Page, name: str) -> str:
    """The value of a set in the list of measurements, evaluated or not."""
    value = page.locator("#set option", has_text=re.compile(rf"^{name}( –|$)")).get_attribute("value")
    assert value is not None
    return value


def test_a_mapping_is_converted_and_predicts_the_same(page: Page, here: str, measurements: None):
    page.goto(here)
    page.get_by_role("button", name="More").click()
    page.get_by_role("link", name="Convert to a resource mapping").click()
    page.get_by_label("Name").fill("these resources")
    page.get_by_role("button", name="Convert").click()
    expect(page.get_by_role("heading", level=1, name="these resources")).to_be_visible()
    cell = page.locator(".loads tbody tr", has_text="bswap").locator("td.load-4").first
    expect(cell).to_have_text("1")
    page.wait_for_load_state()  # until then nothing listens to the choice
    page.get_by_label("Using resource").select_option(index=1)
    expect(page).to_have_url(re.compile(r"resource=0"))
    page.get_by_role("link", name="Accuracy").click()
    page.get_by_label("Measurements").select_option(value=set_number(page, "made-up"))
    expect(page).to_have_url(re.compile(r"set=\d+"))
    if page.get_by_role("button", name="Evaluate").count():
        page.get_by_role("button", name="Evaluate").click()
    expect(page.locator("[data-heat-map-of] .plot-area svg").first).to_be_visible()
    expect(page.locator("main")).to_contain_text("0.00 %")
    page.goto("/experiments/?" + "stay=1&e=bswap GPR[64]:RW")
    expect(page.locator("tr", has_text="these resources")).to_contain_text("resource mapping, limited by")


def test_the_range_of_a_load_is_drawn_beside_its_bucket(page: Page, here: str):
    pinned = here.rstrip("/").rpartition("/")[2]
    page.goto(
        f"/experiments/?stay=1&mapping={pinned}&e=vpermd YMM:W, YMM:R, YMM:R; add GPR[64]:RW, GPR[64]:R"
    )
    ranges = page.locator(".buckets .range")
    expect(ranges).to_have_count(2)
    expect(page.locator(".buckets .range-label")).to_have_text(["0–1", "0–1"])
    expect(page.locator(".bucket-legend")).to_contain_text("range: what the load can be")
    walls = [box for box in (wall.bounding_box() for wall in page.locator(".buckets .wall").all()) if box]
    for line in page.locator(".buckets .range path").all():
        box = line.bounding_box()
        assert box is not None
        assert not any(wall["x"] < box["x"] < wall["x"] + wall["width"] for wall in walls)


def test_the_tabs_of_comparing_and_of_loads_fit_a_phone(page: Page, here: str):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/resource-mappings/")
    paths = [link.get_attribute("href") or "" for link in page.locator("tbody th a").all()]
    page.goto(f"{here}?tab=compare")
    page.get_by_label("Compare with").select_option(label="other ports")
    page.get_by_role("button", name="Compare").click()
    for path in [page.url, *paths, *(f"{path}?tab=accuracy" for path in paths)]:
        page.goto(path)
        assert overflow(page) == 0, path
