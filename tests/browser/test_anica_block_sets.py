"""Basic-block sets in the browser: bringing one in, its table, new columns, accuracy, coverage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.anica.formats.published import write_directory
from tests.browser.axe import TOLERATED
from tests.browser.conftest import RUN_MILLISECONDS
from tests.browser.looks import assert_sound
from tests.browser.visiting import cancel_run
from tests.heads import behind_head
from tests.launched import LaunchedSite

_CODES = ("4801d8", "480fafc3", "480fbcc3", "4829d8", "4801d84829d8", "c5fdfec1")
_PREPARE = """
import io
from pathlib import Path
from inference.features.asking.predictors.query import row_for
from inference.formats.block_sets import BlockSetOptions
from inference.storage.block_sets import store
from anica_app.storage.campaigns import store_campaign
from anica_app.formats.campaign_zip import read_part, tree_of_path
from inference.models import BlockColumn
for cycles in (2, 7):
    words = ["/bin/echo", str(cycles)]
    row_for("command", {{"command": words, "title": f"says {{cycles}}"}}, may_choose=True)
campaign = store_campaign(read_part(tree_of_path(Path({path!r}))), "a campaign for blocks")
numbered = enumerate({codes!r}, start=1)
rows = "".join(f"{{code}},{{at}},{{at * 1.25}},{{-1 if at == 3 else 3}}\\n" for at, code in numbered)
file = io.BytesIO(f"bb,measured,close,far\\n{{rows}}".encode())
made, _ = store(file, "b.csv", "six blocks", BlockSetOptions())
print("set", made.pk)
"""


@pytest.fixture(scope="module")
def block_set(site: LaunchedSite, address: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a set of six blocks; there are a campaign, and predictors "says 2" and "says 7"."""
    top = write_directory(tmp_path_factory.mktemp("published") / "small")
    told = site.told_by(_PREPARE.format(path=str(top), codes=_CODES))
    found = re.search(r"set (\d+)", told)
    assert found is not None, told
    return f"/block-sets/{found[1]}/"


def test_a_file_with_a_broken_row_comes_in_as_its_user_decides(page: Page, block_set: str):
    content = b"4801d8,126.00\n4829d8,200.00\n480fafc3,fast\n480fafc3,300.00\n480fafc3,310.00\n"
    page.goto("/block-sets/")
    page.get_by_role("link", name="Upload a set").click()
    with page.expect_navigation():
        page.set_input_files(
            "input[type=file]", [{"name": "hsw.csv", "mimeType": "text/csv", "buffer": content}]
        )
    problem = page.get_by_role("region", name="Problems").locator("tbody tr")
    expect(problem).to_contain_text(re.compile("3.*Haswell.*'fast' is not a number"))
    expect(page.get_by_label("The numbers of Haswell are")).to_contain_text(
        "as detected: cycles of a hundred"
    )
    expect(page.get_by_role("region", name="First rows")).to_contain_text("sub rax, rbx")
    page.get_by_label("The numbers of Haswell are").select_option("cycles")
    page.get_by_role("button", name="Update the preview").click()
    expect(page.locator(".column-table tbody")).to_contain_text("310.00")
    page.get_by_label("The numbers of Haswell are").select_option("")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#run-state[data-state=failed]")).to_be_visible()
    expect(page.locator("#run-failure")).to_contain_text("row 3, column Haswell")
    page.get_by_role("link", name="review how it is read").click()
    page.get_by_label("leave them out and report them").check()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#run-state[data-state=done]")).to_be_visible()
    page.get_by_role("link", name="Open result").click()
    expect(page.locator(".block-table tbody tr")).to_have_count(4)
    expect(page.locator(".block-table tbody tr").first).to_contain_text("1.26")
    page.get_by_role("link", name="Columns and import").click()
    expect(page.locator("main")).to_contain_text("Rows left out")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name=re.compile("Delete")).click()
    expect(page.locator(".notice-success")).to_contain_text("“hsw” has been deleted")


def test_the_table_is_searched_sorted_and_taken_away(page: Page, block_set: str, tmp_path: Path):
    page.goto(block_set)
    page.get_by_label("Blocks with these mnemonics").fill("add -sub")
    expect(page.locator(".block-table tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=add"))
    page.goto(block_set)
    page.get_by_role("link", name="close").click()
    page.get_by_role("link", name="close").click()
    expect(page.locator(".block-table tbody tr").first).to_contain_text("vpaddd")
    page.get_by_label("Where").select_option(label="far")
    page.locator("#told").select_option("failure")
    expect(page.locator(".block-table tbody tr")).to_have_count(1)
    with page.expect_download() as coming:
        page.get_by_role("link", name="CSV").click()
    kept = tmp_path / "blocks.csv"
    coming.value.save_as(kept)
    assert behind_head(kept.read_text()).splitlines()[3] == "480fbcc3,3.0,3.75,-1.0"
    page.get_by_role("link", name="Name and note").click()
    page.get_by_label("Note").fill("made up")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".note")).to_have_text("made up")


def test_columns_are_compared_and_lead_to_all_views(page: Page, block_set: str):
    page.goto(f"{block_set}?tab=accuracy")
    expect(page.locator("#accuracy-standing tbody tr").first).to_contain_text("25.00")
    page.get_by_label("Reference").select_option(label="far")
    expect(page.locator(".table-count").first).to_contain_text("5 of 6 blocks")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("link", name="Heat maps, largest errors, traits").click(timeout=RUN_MILLISECONDS)
    expect(page.locator(".scores-table tbody tr")).to_have_count(2)


def test_predictors_are_asked_and_what_campaigns_leave_is_explained(page: Page, block_set: str):
    page.goto(block_set)
    page.get_by_role("link", name="Add predictions").click()
    page.get_by_label("says 2").check()
    page.get_by_label("says 7").check()
    page.get_by_role("button", name="Start").click()
    # The page follows the run.
    expect(page.locator("#set-view tbody")).to_contain_text("says 7", timeout=RUN_MILLISECONDS)
    page.get_by_role("link", name="Coverage by campaigns").click()
    page.get_by_label("a campaign for blocks").check()
    page.get_by_label("Interesting where").select_option(label="says 2")
    page.get_by_label("disagrees with").select_option(label="says 7")
    page.get_by_role("button", name="Compute coverage").click()
    expect(page.locator("#coverage-standing .facts")).to_contain_text(
        "Interesting blocks", timeout=RUN_MILLISECONDS
    )
    page.get_by_role("button", name="Generalise block").first.click()
    expect(page).to_have_url(re.compile(r"/campaigns/\d+/$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("says 2 and says 7")
    cancel_run(page)  # other tests wait for the worker
    page.goto(f"{block_set}?tab=columns")
    page.get_by_role("button", name="Remove far").click()
    expect(page.get_by_role("button", name=re.compile("^Remove "))).to_have_count(4)


def test_the_pages_are_accessible_and_fit_a_phone(page: Page, block_set: str, tolerated: list[str]):
    tolerated.append(TOLERATED)
    views = [
        f"{block_set}{query}" for query in ("", "?tab=columns", "?tab=accuracy", "?tab=coverage", "ask/")
    ]
    for path in ("/block-sets/", "/block-sets/upload/", *views):
        page.goto(path)
        assert_sound(page, path)
