"""Buttons of Explain a loop that measure: what they measure appears without reloading the page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound
from tests.browser.visiting import visit
from tests.launched import LaunchedSite

PLANTED = """
from inference.features.learning.core_model.storing import store_parts
from inference.core.mapping import PortMapping as Mapping
from inference.models import ISA, PortMapping
from inference.storage.mappings import store_mapping
from tests.features.completing.test_completion import KNOWN, TRUTH
from tests.simulated import simulated_machine
isa = ISA.objects.get(name="x86-64")
machine = simulated_machine(isa, TRUTH, "simulated box")
value = Mapping(TRUTH.ports, {text: TRUTH.usage[text] for text in KNOWN}, TRUTH.r_max)
mapping = store_mapping("known ports", isa, value, origin=PortMapping.Origin.RUN, machine=machine)
store_parts("planted core", mapping, None, None)
"""
SECONDS = 120_000
"""Milliseconds that a worker may need on a busy computer."""


@pytest.fixture(scope="module")
def planted(site: LaunchedSite) -> None:
    site.told_by(PLANTED)


def test_a_loop_and_what_its_core_model_lacks_are_measured_on_the_page(
    page: Page, planted: None, tolerated: list[str]
) -> None:
    tolerated.append(TOLERATED)
    visit(page, "/loop/?cpu=planted core&code=rol rax, 3%0Aadd rax, rbx")
    measured, missing = page.locator("#loop-measured"), page.locator("#loop-missing")
    page.get_by_role("button", name="Measure on simulated box").click()
    expect(measured).to_contain_text("Measured 0.67 in a loop", timeout=SECONDS)
    expect(measured).to_contain_text(re.compile(r"\d s ago|just now"))
    expect(missing).to_contain_text("rol")
    assert_sound(page, "loop-measuring")
    page.get_by_role("button", name="Measure these 2 instructions").click()
    expect(missing).to_contain_text("Measuring 2 instructions")
    expect(missing).to_have_count(0, timeout=SECONDS)  # the answer has it now
    expect(page.locator("#loop-instructions")).not_to_contain_text("?")
    expect(page).to_have_url(re.compile("cpu=planted"))
