"""What people come for, done as a new user would, by the number of clicks from the start page."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.launched import LaunchedSite

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
KNOWN = {
    "format": "pmweb-core-model",
    "version": 1,
    "name": "task core",
    "isa": "x86-64",
    "mapping": {
        "ports": ["0", "1"],
        "limits": {"slots": 4.0},
        "usage": {
            ADD: [{"ports": ["0", "1"], "count": 1}],
            IMUL: [{"ports": ["1"], "count": 1}],
        },
    },
    "latencies": {
        ADD: [{"source": "1", "destination": "1", "cycles": 1.0}],
        IMUL: [{"source": "1", "destination": "1", "cycles": 3.0}],
    },
    "front_end": {"slots": 4.0},
}
SEED = f"""
from inference.core.experiment import Experiment, Measured
from inference.features.learning.core_model.storing import store_document, store_parts
from inference.formats.core_model_json import read_core_model
from inference.models import ISA, ExperimentSet, Machine, PortMapping
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements

if not Machine.objects.filter(name="task machine").exists():
    isa = ISA.objects.get(name="x86-64")
    told = read_core_model({json.dumps(KNOWN)!r})
    machine = Machine.objects.create(
        name="task machine", kind="published", isa=isa, cpu="Task CPU", facts={{}}
    )
    store_mapping(
        "task mapping", isa, told.model().mapping, origin=PortMapping.Origin.RUN, machine=machine
    )
    for number, factor in enumerate((1.0, 1.3), 1):
        row = ExperimentSet.objects.create(
            name=f"task measurements {{number}}", isa=isa, machine=machine, origin="run"
        )
        alone = {{{ADD!r}: 0.5, {IMUL!r}: factor}}
        measured = [Measured(Experiment.of([text]), cycles) for text, cycles in alone.items()]
        store_measurements(row, measured)
    store_document(told, "task core")
"""


class Hand:
    """Counts what it clicks, a field that it types into included."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        page.goto("/")

    def click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()

    def type(self, target: Locator, text: str) -> None:
        self.click(target)
        self.page.keyboard.insert_text(text)

    def choose(self, target: Locator, label: str) -> None:
        self.clicks += 1
        target.select_option(label=label)


@pytest.fixture
def hand(page: Page, site: LaunchedSite, example: None) -> Hand:
    """On the start page of a site that knows a CPU."""
    site.told_by(SEED)
    return Hand(page)


def test_which_ports_an_instruction_uses_takes_two_clicks(hand: Hand) -> None:
    hand.type(hand.page.get_by_label("Look up an instruction"), "imul")
    hand.click(hand.page.get_by_role("button", name="Look up"))
    hand.page.wait_for_url(re.compile("/i/x86-64/imul/"))
    row = hand.page.locator(".instruction-card tbody", has_text="GPR[64]").first
    expect(row.locator(".port").first).to_be_visible()
    assert hand.clicks <= 2


def test_whether_a_loop_is_bound_by_ports_or_latency_takes_a_paste_and_a_click(hand: Hand) -> None:
    hand.page.get_by_label("Explain a loop").fill("add rax, rbx\nimul rax, rbx")
    hand.click(hand.page.get_by_role("button", name="Explain"))
    expect(hand.page.locator("#loop-verdict")).to_contain_text("4.0 cycles: add → imul wait")
    expect(hand.page.locator("#loop-verdict")).to_be_in_viewport()
    assert hand.clicks <= 1


def test_what_is_wrong_with_a_loop_is_seen_at_once(hand: Hand, tolerated: list[str]) -> None:
    tolerated.append("400")
    hand.page.get_by_label("Explain a loop").fill("frobnicate rax, 7")
    hand.click(hand.page.get_by_role("button", name="Explain"))
    hand.page.wait_for_url("**/loop/**")
    expect(hand.page.get_by_text("has no instruction 'frobnicate'").first).to_be_in_viewport()


def test_where_predictors_disagree_takes_three_clicks(hand: Hand) -> None:
    page = hand.page
    hand.click(page.get_by_role("link", name="Where do predictors disagree?"))
    compare = page.get_by_role("button", name="Compare", exact=True)
    if "/new" in page.url or compare.is_visible():
        hand.click(compare)
    expect(page.locator(".scores-table tbody tr").first).to_be_visible()
    hand.click(page.get_by_role("link", name="Bias by scheme"))
    expect(page.locator("#schemes tbody tr").first).to_be_visible()
    assert hand.clicks <= 3


def test_what_changed_between_two_measurements_takes_four_clicks(hand: Hand) -> None:
    page = hand.page
    hand.click(page.get_by_role("link", name="task measurements 1"))
    hand.click(page.get_by_role("link", name="Compare with…"))
    hand.choose(page.get_by_label("Second set"), "task measurements 2")
    hand.click(page.get_by_role("link", name="Differences by scheme"))
    row = page.locator("main tbody tr", has_text="imul").first
    expect(row).to_contain_text("30.00")
    assert hand.clicks <= 4
