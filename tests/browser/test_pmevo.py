"""An evolution in the browser: its pictures while it goes on, its tables, and a point of the front picked."""

from __future__ import annotations

import csv
import io
import re
from itertools import combinations

import pytest
from playwright.sync_api import Browser, Page, expect

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from tests.browser.conftest import RUN_MILLISECONDS, import_file, keep_picture
from tests.browser.visiting import cancel_run, overflow

TRUTH = PortMapping(
    tuple("0123"),
    {
        "add GPR[64]:RW, GPR[64]:R": ((0b0111, 1),),
        "sub GPR[64]:RW, GPR[64]:R": ((0b0111, 1),),
        "imul GPR[64]:RW, GPR[64]:R": ((0b0010, 1),),
        "shl GPR[64]:RW, IMM[8]:R": ((0b0101, 1),),
        "bswap GPR[64]:RW": ((0b0011, 2),),
        "vpaddd YMM:W, YMM:R, YMM:R": ((0b1000, 1),),
        "vpermd YMM:W, YMM:R, YMM:R": ((0b1000, 2),),
    },
)
SET = "four ports"
MAPPING = "evolved on four ports"
PHONE = {"width": 390, "height": 844}


def measured() -> bytes:
    """Exact cycles of every scheme alone, of pairs in several proportions, and of triples."""
    asked = [Experiment.of([scheme]) for scheme in TRUTH.usage]
    asked += [
        Experiment.of(dict(zip(pair, counts, strict=True)))
        for pair in combinations(TRUTH.usage, 2)
        for counts in ((1, 1), (2, 1), (1, 2))
    ]
    asked += [Experiment.of(triple) for triple in combinations(TRUTH.usage, 3)]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["experiment", "cycles"])
    writer.writerows([str(each), repr(inverse_throughput(TRUTH, each))] for each in asked)
    return text.getvalue().encode()


def start(page: Page, name: str, **values: str) -> None:
    """Start an evolution on the set with these settings; the page of the run opens."""
    page.goto("/infer/")
    page.get_by_role("radio", name="measurements").check()
    page.get_by_role("checkbox", name=re.compile(f"^{SET}")).check()
    page.locator("[name=set_search]").select_option("both")
    page.get_by_text("Settings of PMEvo").click()
    for field, value in {"set_ports": "4", "name": name, **values}.items():
        page.locator(f"[name={field}]").fill(value)
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))


@pytest.fixture(scope="module")
def run_path(browser: Browser, address: str, session: object) -> str:
    """The page of a finished run on the set of this module."""
    context = browser.new_context(base_url=address, storage_state=session)
    page = context.new_page()
    import_file(page, f"{SET}.csv", measured())
    start(page, MAPPING, set_population="100", set_max_generations="40")
    # The first run of a site compiles what it computes with, maybe beside other work.
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
    path = re.search(r"/runs/\d+/", page.url)
    context.close()
    assert path is not None
    return path.group()


def test_the_pictures_move_while_it_evolves_and_tables_come_by_themselves(page: Page, run_path: str):
    start(
        page,
        "watched on four ports",
        set_ports="8",
        set_population="20000",
        set_max_generations="5000",
        set_convergence="0",
        set_perturbations="1000000",  # it shall not end before it is cancelled
        set_perturbation_patience="1000000",
    )
    expect(page.locator("[data-cloud] .main-svg").first).to_be_visible(timeout=RUN_MILLISECONDS)
    expect(page.locator("[data-curve] .main-svg").first).to_be_visible()
    expect(page.locator("#run-residuals tbody tr").first).to_be_visible()
    expect(page.locator("[data-lengths] .main-svg").first).to_be_visible()
    expect(page.locator("#run-classes")).to_contain_text("add GPR")
    slider = page.locator("[data-frames] input")
    expect(slider).to_be_visible()
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("[data-frames] output")).to_have_text("generation 0")
    keep_picture(page, "pmevo-live")
    cancel_run(page)
    expect(page.locator("#run-state[data-state=cancelled]")).to_be_visible()


def test_a_finished_run_has_its_card_its_front_and_its_tables(page: Page, run_path: str):
    page.goto(run_path)
    card = page.locator("#run-card")
    expect(card).to_contain_text("Inference time")
    expect(card).to_contain_text("in 6 classes")  # add and sub are alike
    expect(page.locator("[data-sweeps] .main-svg").first).to_be_visible()
    expect(page.locator("[data-front] .main-svg").first).to_be_visible()
    expect(page.locator("#front-table tbody tr").first).to_be_visible()
    page.locator("#run-classes [name=q]").fill("sub")
    expect(page.locator("#classes tbody tr")).to_have_count(1)
    expect(page.locator("#classes tbody tr")).to_contain_text("add")
    keep_picture(page, "pmevo-done")
    page.emulate_media(color_scheme="dark")
    keep_picture(page, "pmevo-done-dark")
    page.set_viewport_size(PHONE)
    assert overflow(page) <= 0
    keep_picture(page, "pmevo-done-phone")


def test_a_point_is_reached_by_the_keyboard_and_picked(page: Page, run_path: str):
    page.goto(run_path)
    page.get_by_role("link", name="Open result").click()
    page.get_by_role("link", name="Accuracy vs. size", exact=True).click()
    area = page.locator("[data-front] .plot-area")
    expect(area.locator(".main-svg").first).to_be_visible()
    page.get_by_role("link", name="Accuracy vs. size", exact=True).focus()
    while page.evaluate("document.activeElement.closest('[data-front]') === null"):
        page.keyboard.press("Tab")
    expect(page.locator("[data-front] [data-marked]")).to_contain_text("kinds, volume")
    for _ in range(60):  # to the most compact point
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("#front-table tr.chosen")).to_have_count(1)
    page.locator("#front-table tbody tr").last.get_by_role("button", name="Pick").click()
    expect(page.locator("h1")).to_contain_text(re.compile(rf"{MAPPING} · \d+ kinds of µops"))
    page.get_by_role("link", name="Accuracy vs. size", exact=True).click()
    expect(page.locator("#front-table tr[aria-current]")).to_contain_text("kinds")


def test_errors_by_scheme_lead_to_their_experiments(page: Page, run_path: str):
    page.goto(run_path)
    page.locator("#run-residuals td a").first.click()
    expect(page.locator("#bin h2")).to_contain_text("Experiments with")
    expect(page.locator("#bin tbody tr").first).to_be_visible()
    expect(page.locator("[data-heat-map-of] .main-svg").first).to_be_visible()
    page.get_by_role("link", name="Bias by scheme").click()
    page.locator("#schemes tbody a[title='Their heat map']").first.click()
    expect(page.locator("#bin h2")).to_contain_text("Experiments with")


def test_one_press_on_the_page_of_a_set_learns_a_mapping_from_it(page: Page, run_path: str):
    page.goto("/sets/")
    page.get_by_role("link", name=SET, exact=True).click()
    page.get_by_role("button", name="Infer a mapping from this set").click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    expect(page.locator("h1")).to_contain_text(f"{SET} · PMEvo")
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
