"""A discovery in the browser: its tree by mouse and keyboard, the blocks of a step, asking again, exports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.anica.formats.published import write_directory
from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound
from tests.browser.visiting import visit
from tests.launched import LaunchedSite

_PREPARE = """
from pathlib import Path
from inference.features.asking.predictors.query import row_for
from anica_app.storage.campaigns import store_campaign
from anica_app.formats.campaign_zip import read_part, tree_of_path
row_for("command", {{"command": ["/bin/echo", "4.25"], "title": "always 4.25"}}, may_choose=True)
campaign = store_campaign(read_part(tree_of_path(Path({path!r}))), "small")
print("discovery", campaign.discoveries.get().pk)
"""


@pytest.fixture(scope="module")
def here(site: LaunchedSite, address: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a discovery with four decisions, of which the first represents the block itself; a
    predictor is there that the campaign never had."""
    top = write_directory(tmp_path_factory.mktemp("published") / "small")
    told = site.told_by(_PREPARE.format(path=str(top)))
    found = re.search(r"discovery (\d+)", told)
    assert found is not None, told
    return f"/discoveries/{found[1]}/"


def test_a_click_on_a_step_shows_its_blocks_and_the_address_names_it(page: Page, here: str):
    page.goto(here)
    expect(page.locator("[data-tree-status]")).to_have_text(
        "3 steps: 2 taken, 1 rejected, 1 more implied by others"
    )
    expect(page.get_by_role("treeitem", selected=True)).to_have_accessible_name(
        re.compile("this is the discovery")
    )
    page.get_by_role("treeitem", name=re.compile("^Step 3, rejected")).click()
    head = page.locator("#step-head")
    expect(head).to_have_text("Step 3: instruction 1 need not have an operand GPR[64]:R")
    expect(page).to_have_url(re.compile(r"\?step=3$"))
    expect(page.locator("#step tbody tr")).to_have_count(3)
    page.get_by_role("link", name="two").click()
    expect(page).to_have_url(re.compile(r"sort=2"))
    expect(page.locator("#step tbody td[data-label^=two]").first).to_have_text("1.00")
    page.reload()
    expect(head).to_contain_text("Step 3")
    page.go_back()
    page.go_back()
    expect(head).to_contain_text("Step 4")
    expect(page.get_by_role("treeitem", selected=True)).to_have_accessible_name(re.compile("^Step 4"))


def test_the_tree_is_gone_through_with_the_keyboard(page: Page, here: str):
    page.goto(here)
    page.get_by_role("treeitem", selected=True).focus()
    page.keyboard.press("Home")
    focused = page.locator(":focus")
    expect(focused).to_have_accessible_name(re.compile("^Start"))
    page.keyboard.press("ArrowDown")
    expect(focused).to_have_accessible_name(re.compile("^Step 2, taken"))
    expect(focused).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_accessible_name(re.compile("^Step 3, rejected"))
    expect(focused).to_have_attribute("aria-level", "2")
    page.keyboard.press("Enter")
    expect(page.locator("#step-head")).to_contain_text("Step 3")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(focused).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("treeitem")).to_have_count(3)
    expect(page).to_have_url(re.compile(r"closed=2"))
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("treeitem")).to_have_count(4)


def test_steps_are_found_hidden_and_zoomed(page: Page, here: str):
    page.goto(here)
    page.keyboard.press("/")
    page.keyboard.type("operands")
    expect(page.locator("[data-tree-status]")).to_have_text("1 of 3 steps match")
    expect(page.locator(".gtree .node.dim")).to_have_count(3)
    page.get_by_label("Accepted steps only").check()
    expect(page.get_by_role("treeitem")).to_have_count(3)
    page.locator("[data-tree-search]").press("Enter")
    expect(page.get_by_role("treeitem")).to_have_count(4)
    box = page.get_by_role("treeitem", name=re.compile("^Start")).bounding_box()
    page.get_by_role("button", name="Larger").click()
    larger = page.get_by_role("treeitem", name=re.compile("^Start")).bounding_box()
    assert box is not None
    assert larger is not None
    assert larger["height"] > 1.2 * box["height"]
    page.goto(f"{here}?find=mnemonic&only=1")
    expect(page.get_by_label("Accepted steps only")).to_be_checked()
    expect(page.locator("[data-tree-status]")).to_contain_text("1 of 3")


def test_another_predictor_answers_beside_those_of_the_campaign(page: Page, here: str):
    page.goto(f"{here}?step=3")
    page.get_by_text("Ask other predictors").click()
    page.get_by_label("always 4.25").check()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#step td[data-label^='always 4.25']")).to_have_text(["4.25"] * 3)
    page.reload()
    expect(page.locator("#step td[data-label^='always 4.25']").first).to_have_text("4.25")


def test_tree_report_and_session_are_taken_away(page: Page, here: str, tmp_path: Path):
    page.goto(here)
    kept = {}
    for name in ("Tree as picture", "Tree with all blocks", "Bug report", "Compiler Explorer session"):
        page.locator(".export-menu summary").click()
        with page.expect_download() as coming:
            page.locator(".export-menu").get_by_text(name).click()
        coming.value.save_as(tmp_path / name)
        kept[name] = (tmp_path / name).read_text()
        if page.locator(".export-menu[open]").count():
            page.keyboard.press("Escape")
    assert kept["Tree as picture"].startswith("<svg")
    assert kept["Tree as picture"].count('<g class="taken"') == 2
    assert len(json.loads(kept["Tree with all blocks"])["steps"][3]["samples"]["blocks"]) == 3
    assert kept["Bug report"].startswith("# two crashes on `")
    assert json.loads(kept["Compiler Explorer session"])["sessions"][0]["language"] == "analysis"


def test_a_block_is_reproduced_elsewhere_and_the_discovery_marked(page: Page, here: str):
    page.goto(here)
    page.locator("#step tbody th a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reproduce and report")
    expect(page.locator("#command-1")).to_contain_text("llvm-mca")
    link = page.get_by_role("link", name="Open in Compiler Explorer")
    expect(link).to_have_attribute("href", re.compile(r"^https://godbolt\.org/clientstate/"))
    page.go_back()
    page.get_by_label("reported").check()
    page.get_by_label("Note").fill("told on the mailing list")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".lede")).to_contain_text("reported")
    expect(page.get_by_label("Note")).to_have_value("told on the mailing list")
    expect(page.get_by_role("link", name="New campaign excluding this")).to_have_attribute(
        "href", re.compile(r"/campaigns/new/\?from=\d+&exclude=\d+")
    )


def test_the_pages_are_accessible_and_fit_a_phone(page: Page, here: str, tolerated: list[str]):
    tolerated.append(TOLERATED)
    for path in (f"{here}?step=3", f"{here}reproduce/", f"{here}ask/?step=3"):
        visit(page, path)
        assert_sound(page, path)
