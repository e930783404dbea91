"""The main job: from an uploaded file to a port mapping, started and watched in the browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import problem
from tests.browser.conftest import RUN_MILLISECONDS
from tests.browser.visiting import cancel_run


def start_run(page: Page, measurements: str, search: str = "evolution", **values: str) -> None:
    """Fill in the infer form and press Start; the page of the run opens."""
    page.goto("/infer/")
    page.get_by_role("radio", name="measurements").check()
    page.get_by_role("checkbox", name=re.compile(f"^{re.escape(measurements)}")).check()
    page.locator("[name=set_search]").select_option(search)
    page.get_by_text("Settings of PMEvo").click()  # they are folded while all have their defaults
    for name, value in values.items():
        page.locator(f"[name={name}]").fill(value)
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))


def test_the_estimate_follows_the_form_before_anything_starts(page: Page, measurements: str):
    page.goto("/infer/")
    page.get_by_role("radio", name="measurements").check()
    page.get_by_role("checkbox", name=re.compile(f"^{measurements}")).check()
    held_out = round(0.2 * len(problem.experiments()))
    expect(page.locator("#estimate")).to_contain_text(str(len(problem.experiments()) - held_out))
    expect(page.locator("#estimate")).to_contain_text("Estimated time")


def test_a_value_that_makes_no_sense_is_refused_at_its_field(
    page: Page, measurements: str, tolerated: list[str]
):
    tolerated.append("status of 400")
    page.goto("/infer/")
    page.get_by_role("checkbox", name=re.compile(f"^{measurements}")).check()
    page.locator("[name=set_ports]").fill("many")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("[data-field=set_ports]")).to_contain_text("a whole number")


def test_a_run_is_watched_live_to_its_mapping_which_predicts_what_it_has_not_seen(
    page: Page, measurements: str
):
    start_run(page, measurements, "both", name="watched", set_ports="3", set_max_generations="40", seed="7")
    expect(page.get_by_role("heading", name="watched")).to_be_visible()
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
    expect(page.locator("[data-heat-map] .main-svg").first).to_be_visible()
    expect(page.locator("[data-curve] .main-svg").first).to_be_visible()
    expect(page.locator("[data-log] li").last).to_contain_text("done")
    page.get_by_role("link", name="Open result").click()
    expect(page).to_have_url(re.compile(r"/mappings/\d+/"))
    error = page.locator("dl.facts div", has_text="MAPE").locator(".figure").inner_text()
    assert float(error.rstrip(" %\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}")) < 10


@pytest.fixture
def mapping_path(page: Page, example: None) -> str:
    """The address of the example's mapping."""
    page.goto("/mappings/")
    path = page.get_by_role("link", name="Example: Zen 4, by PMEvo", exact=True).get_attribute("href")
    assert path is not None
    return path


def test_the_graph_lights_what_is_pinned_and_keeps_it_in_the_address(page: Page, mapping_path: str):
    page.goto(f"{mapping_path}?tab=graph")
    node = page.locator("[data-graph] svg [tabindex]").first
    expect(node).to_be_visible()
    node.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-graph-details]")).not_to_be_empty()
    pinned = page.url
    assert pinned != f"{mapping_path}?tab=graph"
    details = page.locator("[data-graph-details]").inner_text()
    page.goto(pinned)
    expect(page.locator("[data-graph-details]")).to_have_text(details, use_inner_text=True)


def test_the_accuracy_tab_shows_the_heat_map_with_its_scores(page: Page, mapping_path: str):
    page.goto(f"{mapping_path}?tab=accuracy")
    expect(page.locator(".plot-area .main-svg").first).to_be_visible()
    for label in ("MAPE", "Pearson's r", "Kendall's τ"):
        expect(page.locator("dl.scores").first).to_contain_text(label)


def test_the_scheme_table_shows_uops_with_measured_and_predicted_cycles(page: Page, mapping_path: str):
    page.goto(f"{mapping_path}?tab=schemes")
    expect(page.locator("tbody tr").first).to_contain_text("×")
    expect(page.locator("tbody tr td[data-label^=Predicted]").first).to_have_text(re.compile(r"\d"))


def test_a_mapping_can_be_exported_as_json(page: Page, mapping_path: str):
    page.goto(mapping_path)
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.locator(".export-menu a[href$='format=json']").click()
    assert download.value.suggested_filename.endswith(".json")


def test_run_again_with_changes_fills_in_the_form(page: Page, measurements: str):
    start_run(page, measurements, name="first of two", set_ports="3", set_population="50", seed="11")
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
    page.get_by_role("link", name="Run again with changes").click()
    expect(page.locator("[name=seed]")).to_have_value("11")
    expect(page.locator("[name=set_population]")).to_have_value("50")


def test_a_long_run_is_paused_resumed_and_cancelled(page: Page, measurements: str):
    start_run(
        page,
        measurements,
        name="long",
        set_ports="8",
        set_population="80000",
        set_max_generations="5000",
        set_convergence="0",
    )
    expect(page.locator("[data-fitness]")).to_be_visible(timeout=RUN_MILLISECONDS)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#run-state[data-state=paused]")).to_be_visible(timeout=RUN_MILLISECONDS)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#run-state[data-state=running]")).to_be_visible(timeout=RUN_MILLISECONDS)
    cancel_run(page)
    expect(page.locator("#run-state[data-state=cancelled]")).to_be_visible(timeout=RUN_MILLISECONDS)
