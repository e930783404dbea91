"""The basic-block page in the browser: pasting, answers of every kind as they come, and all that leads on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import TOLERATED
from tests.browser.looks import assert_sound
from tests.browser.visiting import cancel_run, visit
from tests.heads import behind_head
from tests.launched import LaunchedSite

SAYING = ["says 4.75", "says 2", "ends badly", "never ends", "knows nothing", "says nothing"]
_PREPARE = """
from inference.features.asking.predictors.query import row_for
for name, words, more in (
    ("says 4.75", ["/bin/echo", "4.75"], {}),
    ("says 2", ["/bin/echo", "2"], {}),
    ("ends badly", ["/bin/false"], {}),
    ("never ends", ["/bin/sleep", "60"], {"seconds": 0.3}),
    ("knows nothing", ["/bin/echo", "unknown instruction"], {"unknown": "unknown instruction"}),
    ("says nothing", ["/bin/echo", "hello"], {}),
):
    row_for("command", {"command": words, "title": name, **more}, name, may_choose=True)
"""
CODE = "add rax, rbx\nadd qword ptr [rcx+16], rbx\nadd qword ptr [rcx+16], rbx"


@pytest.fixture(scope="module")
def tools(site: LaunchedSite) -> None:
    """Six commands: two that say numbers, and one for each way of having none."""
    site.told_by(_PREPARE)


def choose(page: Page, *names: str) -> None:
    """Tick these and nobody else: what is installed here must not matter."""
    boxes = page.locator("input[name=predictors]")
    boxes.evaluate_all("boxes => boxes.forEach((box) => { box.checked = false; })")
    for name in names:
        page.get_by_label(name).check()


def ask(page: Page, code: str, *names: str) -> None:
    page.goto("/blocks/")
    page.get_by_role("textbox", name="Basic blocks").fill(code)
    choose(page, *names)
    page.get_by_role("button", name="Predict", exact=True).click()
    page.wait_for_url(re.compile(r"/blocks/\d+/$"))


@pytest.fixture(scope="module")
def answered(site: LaunchedSite, address: str, session, browser, tools: None, example: None) -> str:
    """The path of a question that has been answered, memory dependencies included."""
    context = browser.new_context(base_url=address, storage_state=session)
    page = context.new_page()
    ask(page, CODE, *SAYING, "mapping Example")
    expect(page.locator("#asked-state[data-state=done]")).to_be_attached()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#memory tbody tr")).to_have_count(len(SAYING) + 1)
    expect(page.locator("#memory")).not_to_contain_text("waiting")
    path = re.sub(r"^https?://[^/]+|[?#].*", "", page.url)
    context.close()
    return path


@pytest.mark.usefixtures("example")
def test_a_block_is_pasted_decoded_and_put_right(page: Page, tolerated: list[str]):
    tolerated.append(r"400 \(Bad Request\)")  # the first block is refused
    page.goto("/blocks/")
    code = page.get_by_role("textbox", name="Basic blocks")
    code.fill("add rax, rbx\nfrob rax")
    page.get_by_role("button", name="Decode").last.click()
    expect(page.get_by_text("line 2, column 1: x86-64 has no instruction 'frob'")).to_be_visible()
    code.fill("addq %rbx, %rax\nvpaddd (%rdi), %ymm2, %ymm1")
    page.get_by_role("button", name="Decode").last.click()
    expect(page).to_have_url(re.compile(r"/blocks/\?code=add"))
    expect(page.get_by_role("heading", name="Block 1")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("4801d8"))).to_contain_text("add")
    page.reload()
    expect(page.get_by_role("textbox", name="Basic blocks")).to_have_value(re.compile("vpaddd"))


def test_a_loop_of_pasted_code_is_asked_about_in_two_clicks(page: Page, tools: None):
    page.goto("/blocks/")
    loop = ".L3:\n  addl (%rdi), %eax\n  addq $4, %rdi\n  cmpq %rdi, %rsi\n  jne .L3\n"
    code = f"f:\n  xorl %eax, %eax\n{loop}  ret"
    page.get_by_role("textbox", name="Basic blocks").fill(code)
    choose(page, "says 2")
    page.get_by_role("button", name="Decode").last.click()
    expect(page.get_by_role("row", name=re.compile(r"\.L3"))).to_contain_text("loop")
    page.get_by_role("button", name="Predict this loop").click()
    page.wait_for_url(re.compile(r"/blocks/\d+/$"))
    rows = page.locator("#answers tbody tr")
    expect(rows.locator("td.num").first).to_contain_text("2.00")
    expect(rows.first).to_contain_text("branch left out")
    page.get_by_role("link", name="Edit and predict again").click()
    expect(page.get_by_role("textbox", name="Basic blocks")).to_have_value(re.compile(r"jne \.loop$"))


def test_answers_of_every_kind_come_one_by_one_without_a_reload(page: Page, tools: None):
    ask(page, "sub rax, rbx", *SAYING)
    page.evaluate("window.notReloaded = true")
    rows = page.locator("#answers tbody tr")
    for name, said in zip(
        SAYING, ["4.75", "2.00", "crash", "timeout", "unsupported", "no number"], strict=True
    ):
        expect(rows.filter(has_text=name).locator("td.num").first).to_contain_text(said)
    expect(page.locator("#asked-state[data-state=done]")).to_be_attached()
    assert page.evaluate("window.notReloaded")
    page.reload()
    expect(rows.filter(has_text="never ends")).to_contain_text("timeout")


def test_several_blocks_stand_in_a_table_that_leads_to_each(page: Page, tools: None):
    ask(page, "add rax, rbx\n\nadd rcx, rdx", "says 2")
    expect(page.get_by_role("heading", level=1)).to_have_text("2 basic blocks")
    expect(page.locator("#answers td.num")).to_have_text(["2.00", "2.00"])
    page.get_by_role("link", name="add rcx, rdx").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Block 2")
    page.get_by_role("link", name="Edit and predict again").click()
    expect(page.get_by_role("textbox", name="Basic blocks")).to_have_value("add rax, rbx\n\nadd rcx, rdx")
    expect(page.locator("input[name=predictors]:checked")).to_have_count(1)


def test_ports_memory_and_files_of_a_question(page: Page, answered: str):
    page.goto(answered)
    expect(page.locator(".port-load tbody tr")).to_have_count(4)
    expect(page.locator("[data-buckets] svg")).to_be_visible()
    row = page.locator("#memory tbody tr").filter(has_text="says 2")
    expect(row).to_contain_text("does not distinguish the addresses")
    with page.expect_download() as coming:
        page.locator(".page-head").get_by_role("link", name="CSV").click()
    content = behind_head(coming.value.path().read_text())
    assert content.startswith("bb,")
    assert "4.75" in content
    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_role("link", name="Open result").click()
    expect(page).to_have_url(re.compile(rf"{answered}$"))


def test_a_difference_and_a_prediction_are_explained_by_runs(page: Page, answered: str, tolerated: list[str]):
    tolerated.append(r"400 \(Bad Request\)")  # two that agree
    page.goto(answered)
    form = page.locator("#explain")
    form.get_by_label("Predictor", exact=True).select_option("says 2")
    form.get_by_label("Compare with").select_option("says 2")
    form.get_by_role("button", name="Generalise").click()
    expect(form.get_by_text("agrees with itself")).to_be_visible()
    for second in ("says 4.75", "none"):
        page.goto(answered)
        form.get_by_label("Predictor", exact=True).select_option("says 2")
        form.get_by_label("Compare with").select_option(second)
        form.get_by_role("button", name="Generalise").click()
        page.wait_for_url(re.compile(r"/campaigns/\d+/"))
        cancel_run(page)  # thousands of processes say nothing new
    page.goto(answered)
    expect(page.locator("#explanations")).to_contain_text("says 2 and says 4.75")
    expect(page.locator("#explanations")).to_contain_text("says 2 alone")


_BROUGHT_UP_TO_DATE = """async () => {
  const loaded = performance.getEntriesByType("resource").map((each) => each.name);
  const { fetchPage, replaceRegion } = await import(loaded.find((name) => /\\/regions[.]/.test(name)));
  replaceRegion(await fetchPage(window.location.href), "explain", { keep: true });
}"""


def test_what_somebody_has_chosen_stays_when_the_page_is_brought_up_to_date(page: Page, answered: str):
    page.goto(answered)
    form = page.locator("#explain")
    before = form.element_handle()
    form.get_by_label("Predictor", exact=True).select_option("says 2")
    form.get_by_text("What counts").click()
    form.get_by_label("More than").fill("0.75")
    untouched = form.get_by_label("Compare with").input_value()
    page.evaluate(_BROUGHT_UP_TO_DATE)
    assert before is not None
    assert not before.evaluate("region => region.isConnected")
    expect(form.get_by_label("Predictor", exact=True).locator("option:checked")).to_have_text("says 2")
    expect(form.get_by_label("More than")).to_have_value("0.75")
    expect(form.get_by_label("Compare with")).to_have_value(untouched)
    expect(form.get_by_label("More than")).to_be_visible()


def test_a_tool_is_tried_where_it_is_listed(page: Page, tools: None):
    page.goto("/predictors/")
    choose(page, "says 4.75")
    page.get_by_role("button", name="Predict").click()
    page.wait_for_url(re.compile(r"/blocks/\d+/$"))
    expect(page.locator("#answers td.num").first).to_contain_text("4.75")


def test_the_pages_are_accessible_and_fit_a_phone(page: Page, answered: str, tolerated: list[str]):
    tolerated.append(TOLERATED)
    for path in (answered, "/blocks/?code=4801d8"):
        visit(page, path)
        assert_sound(page, path.partition("?")[0])
