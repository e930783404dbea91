"""Campaigns in the browser: import and export, a live one, comparing, a matrix of tools."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.anica.formats.published import write_directory
from tests.browser.axe import TOLERATED
from tests.browser.conftest import RUN_MILLISECONDS, upload
from tests.browser.looks import assert_sound
from tests.browser.visiting import cancel_run
from tests.launched import LaunchedSite

_PREPARE = """
import io
from pathlib import Path
from inference.features.asking.predictors.query import row_for
from inference.formats.block_sets import BlockSetOptions
from inference.storage.block_sets import store
from anica_app.storage.campaigns import store_campaign
from anica_app.formats.campaign_zip import read_part, tree_of_path
from inference.models import Run
for cycles in (1, 4):
    words = ["/bin/echo", str(cycles)]
    row_for("command", {{"command": words, "title": f"always {{cycles}}"}}, may_choose=True)
tree = tree_of_path(Path({path!r}))
made = [store_campaign(read_part(tree), name) for name in ("first campaign", "second campaign")]
blocks = b"bb,measured\\n4801d8,1.0\\n480fafc3,3.0\\n480fbcc3,3.5\\n"
store(io.BytesIO(blocks), "b.csv", "three blocks", BlockSetOptions())
found = [one.discoveries.get().pk for one in made]
shared = {{"blocks": 4, "strange": 0, "covered": 3, "unsaid": [], "widened": False, "url": "/"}}
for campaigns, pks in (([made[0]], found[:1]), (made, found)):
    Run.objects.create(
        name=f"coverage {{len(pks)}}", kind="coverage", state="done",
        config={{"campaigns": [one.pk for one in campaigns], "block_set": None, "columns": []}},
        result={{**shared, "discoveries": pks, "by_discovery": {{str(pk): 3 for pk in pks}},
                "by_campaign": {{str(one.pk): 3 for one in campaigns}}, "uncovered": ["4801d8"],
                "overlap": {{str(pks[0]): pks[1:]}} if pks[1:] else {{}},
                "best": [{{"chosen": pks[:1], "covered": 3, "proven": True}}]}},
    )
print("campaigns", *(one.pk for one in made))
"""


@pytest.fixture(scope="module")
def campaigns(site: LaunchedSite, address: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The addresses of two imported campaigns; there are two predictors, and a set of three blocks."""
    top = write_directory(tmp_path_factory.mktemp("published") / "small")
    told = site.told_by(_PREPARE.format(path=str(top)))
    found = re.search(r"campaigns (\d+) (\d+)", told)
    assert found is not None, told
    return [f"/campaigns/{number}/" for number in found.groups()]


def test_a_campaign_leaves_as_zip_and_comes_back(page: Page, campaigns: list[str], tmp_path: Path):
    page.goto(campaigns[0])
    page.locator(".export-menu summary").click()
    with page.expect_download() as coming:
        page.get_by_text("Everything (zip)").click()
    kept = tmp_path / "campaign.zip"
    coming.value.save_as(kept)
    assert "discoveries.json" in zipfile.ZipFile(kept).namelist()
    upload(page, **{"brought back.zip": kept.read_bytes()})
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#run-state[data-state=done]")).to_be_visible()
    page.locator("#run-state").get_by_role("link", name=re.compile("brought back")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("brought back")
    expect(page.locator(".discoveries tbody tr")).to_have_count(1)
    expect(page.locator("#campaign-counters")).to_contain_text("Discoveries")


def test_views_of_a_campaign_are_addresses(page: Page, campaigns: list[str]):
    page.goto(campaigns[0])
    page.get_by_role("link", name="Generality").click()
    expect(page).to_have_url(re.compile("sort=generality"))
    page.get_by_role("link", name="Coverage and best selection").click()
    expect(page.locator(".sizes a[aria-current]")).to_contain_text("75.0")
    expect(page.get_by_text("add rax, rbx")).to_be_visible()
    page.get_by_role("link", name="Rounds", exact=True).click()
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Round")


def test_chosen_campaigns_are_compared(page: Page, campaigns: list[str]):
    page.goto("/campaigns/")
    for name in ("first campaign", "second campaign"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare selected").click()
    expect(page.locator("#overlap .cells td").nth(1)).to_have_text("1 of 1")
    expect(page.get_by_text("None: all have the same configuration.")).to_be_visible()


def test_a_campaign_is_started_watched_and_cancelled(page: Page, campaigns: list[str], tolerated: list[str]):
    tolerated.append("400")  # the form is refused once
    page.goto("/campaigns/")
    page.get_by_role("link", name="New campaign").click()
    page.get_by_label("First predictor").select_option("always 1")
    page.get_by_role("button", name=re.compile("^A tool and a machine")).click()
    expect(page.get_by_label("Threshold")).to_have_value("2.0")
    expect(page.get_by_label("First predictor")).to_have_value("always 1")
    page.get_by_label("Second predictor").select_option("always 4")
    expect(page.locator("#estimate")).to_contain_text("unknown: no campaign of these predictors yet")
    page.get_by_label("Samples per abstract block").fill("0", force=True)
    page.get_by_role("button", name="Start").click()
    complaint = page.locator("[data-field=set_samples] .errorlist")
    expect(complaint).to_be_visible()  # what is folded opens where something is wrong
    page.get_by_label("Samples per abstract block").fill("10")
    page.locator("input[name=name]").fill("a campaign to be watched")
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(r"/campaigns/\d+/$"))
    expect(page.locator("[data-connection]")).to_have_attribute("data-state", "live")
    expect(page.locator("#campaign-standing[data-state=running]")).to_be_visible()
    cancel_run(page)
    expect(page).to_have_url(re.compile(r"/runs/\d+/"))
    page.go_back()
    expect(page.locator("#campaign-standing[data-state=cancelled]")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_a_matrix_leads_to_its_blocks_and_to_a_campaign(page: Page, campaigns: list[str]):
    page.goto("/comparisons/new/")
    page.get_by_label("Experiments or blocks of").select_option(label="three blocks")
    page.get_by_label("measured", exact=True).check()
    page.get_by_label("always 1").check()
    page.get_by_label("always 4").check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("link", name="Matrix").click(timeout=RUN_MILLISECONDS)
    row = page.locator("tbody tr").filter(has=page.get_by_role("rowheader", name="always 1", exact=True))
    cell = row.locator("td[data-label='always 4']")
    expect(cell).to_contain_text("100.0")
    cell.get_by_role("link").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Start a campaign with these two").click()
    expect(page.get_by_label("First predictor")).to_have_value("always 1")
    expect(page.get_by_label("Second predictor")).to_have_value("always 4")


def test_tools_are_compared_on_random_blocks(page: Page, campaigns: list[str], tolerated: list[str]):
    tolerated.append("status of 400")  # the form is refused once
    page.goto("/comparisons/new/")
    page.get_by_role("link", name="New random blocks instead").click()
    page.get_by_label("Random blocks").fill("20")
    page.get_by_label("always 1").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".errorlist")).to_have_text("Choose two or more.")
    page.get_by_label("always 4").check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("link", name="Matrix").click(timeout=RUN_MILLISECONDS)
    expect(page.locator("tbody tr").first).to_contain_text("100.0")


def test_the_pages_are_accessible_and_fit_a_phone(page: Page, campaigns: list[str], tolerated: list[str]):
    tolerated.append(TOLERATED)
    numbers = [re.findall(r"\d+", path)[0] for path in campaigns]
    tabs = [f"{campaigns[0]}?tab={tab}" for tab in ("selection", "rounds", "left-out", "asked")]
    compared = f"/campaigns/compare/?c={numbers[0]}&c={numbers[1]}"
    own = ["/", "/campaigns/", "/campaigns/new/", "/campaigns/matrices/", "/campaigns/matrices/new/"]
    for path in (*own, campaigns[0], *tabs, compared):
        page.goto(path)
        page.evaluate("document.querySelectorAll('details.more').forEach(one => { one.open = true; })")
        assert_sound(page, path)
