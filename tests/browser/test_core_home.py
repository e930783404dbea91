"""A CPU's home: a core of the gallery, and a core model whose front end is measured by its button."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound
from tests.browser.visiting import visit
from tests.launched import LaunchedSite

SECONDS = 120_000
"""Milliseconds that a worker may need on a busy computer."""

PLANTED = """
from inference.features.learning.core_model.storing import store_parts
from inference.models import ISA, PortMapping
from inference.storage.mappings import store_mapping
from tests.features.completing.test_completion import TRUTH
from tests.simulated import simulated_machine
isa = ISA.objects.get(name="x86-64")
machine = simulated_machine(isa, TRUTH, "home box")
mapping = store_mapping("ports of the home box", isa, TRUTH, origin=PortMapping.Origin.RUN, machine=machine)
store_parts("home core", mapping, None, None)
"""


REMOVED = """
from inference.models import LatencySet, Machine, MeasuredFrontEnd, PortMapping, Run, StoredCoreModel
machine = Machine.objects.get(name="home box")
StoredCoreModel.objects.filter(machine=machine).delete()
for model in (PortMapping, LatencySet, MeasuredFrontEnd):
    model.objects.filter(machine=machine).delete()
Run.objects.filter(config__machine=machine.pk).delete()
machine.delete()
"""


@pytest.fixture(scope="module")
def planted(site: LaunchedSite) -> Iterator[None]:
    """A core that is removed again: pages of other tests choose among all cores of the site."""
    site.told_by(PLANTED)
    yield
    site.told_by(REMOVED)


def test_a_core_of_the_gallery_is_read_and_compared_with_one_choice(
    page: Page, planted: None, tolerated: list[str]
) -> None:
    tolerated.append(TOLERATED)
    visit(page, "/gallery/")
    page.get_by_role("link", name="Zen 5", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Zen 5, as recorded")
    expect(page.locator(".core-verdict")).to_contain_text("mean error")
    expect(page.get_by_role("table", name=re.compile("Who competes"))).to_contain_text("shift")
    assert_sound(page, "recorded-core")
    page.get_by_label("Compare with").select_option("home core")
    expect(page.get_by_role("heading", level=1)).to_contain_text("against")


def test_what_is_missing_is_measured_from_the_page(page: Page, planted: None, tolerated: list[str]) -> None:
    tolerated.append(TOLERATED)
    visit(page, "/core-models/")
    page.get_by_role("link", name="home box, simulated").click()
    home = page.url
    expect(page.locator(".core-verdict")).to_contain_text("Accuracy not checked")
    page.get_by_role("link", name="front end not measured").click()
    page.get_by_role("button", name="Measure the front end").click()
    expect(page.locator(".badge.done").first).to_be_visible(timeout=SECONDS)
    page.goto(home)
    page.get_by_role("button", name="Take home box").click()
    expect(page.get_by_role("heading", name="Front end")).to_be_visible()
    expect(page.get_by_role("button", name="Take home box")).to_have_count(0)
    assert_sound(page, "core-model-home")
