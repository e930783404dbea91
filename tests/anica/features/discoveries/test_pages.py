"""The page of a discovery, its tree, its blocks, and what one takes away from it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from anica_app.features.discoveries.query import Node
from anica_app.features.discoveries.wording import decision_label, decision_text, table_of
from anica_app.formats.campaign_zip import read_part, tree_of_path
from anica_app.models import Campaign, Discovery, GeneralisationStep
from anica_app.storage.campaigns import store_campaign
from pmweb.accounts.people import ensure_administrator
from tests.anica.formats.published import LABEL, documents, write_directory
from tests.heads import behind_head

QUERIES = 18
"""The session and its user, the discovery, its parts: so many, however large the tree."""

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client) -> Client:
    client.force_login(ensure_administrator())
    return client


@pytest.fixture
def discovery(tmp_path: Path) -> Discovery:
    """The one discovery of a small directory of the published tool: four decisions, one of them rejected."""
    top = write_directory(tmp_path / "small")
    return store_campaign(read_part(tree_of_path(top)), "small").discoveries.get()


def model_of(page: str) -> list[dict]:
    found = re.search(r'<script id="tree-model" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])["nodes"]


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)).replace(" :", ":")


def test_the_page_says_the_block_in_words_and_as_constraints_and_draws_every_decision(visitor, discovery):
    page = visitor.get(f"/discoveries/{discovery.pk}/").content.decode()
    assert f"in the imported files {LABEL}" in page
    assert "does not access memory" in page
    assert "fewer than 2 µops" in page
    table = text_of(page[page.index('class="constraints"') :])
    assert "memory none" in table
    nodes = model_of(page)
    assert [node["taken"] for node in nodes] == [True, True, False, True]
    assert [len(node["implied"]) for node in nodes] == [1, 0, 0, 0], "the first step changes no set of blocks"
    assert [node["number"] for node in nodes if node["result"]] == [4]
    assert nodes[2]["label"] == "1 · operands without GPR[64]:R"
    assert nodes[2]["reason"] == "1 of 3 blocks are not interesting"
    assert [node["against"] for node in nodes] == ["", "", "rex.w add al, bl: 1.00 = 1.00", ""]
    assert "Infinity" not in page


def test_dependencies_have_a_heading_of_their_own_and_a_direction(visitor, discovery):
    said = {"instructions": [{"memory": ["R"]}, {}], "dependencies": [[1, 2, "register"], [2, 1, "flag"]]}
    Discovery.objects.update(abstract=said)
    page = text_of(visitor.get(f"/discoveries/{discovery.pk}/").content.decode())
    assert "Dependencies instruction 2 reads a register that instruction 1 writes" in page
    assert "instruction 1 reads a flag that instruction 2 writes" in page
    assert table_of(said).dependencies == ("1 → 2 (register)", "2 → 1 (flag)")
    assert "from the instruction that writes: 1 → 2 (register)" in page
    step = Node(1, "expansion", {"dependency": [2, 1, "flag"]}, None, True, "all", 3, 3, 0, 1.0)
    assert decision_label(step) == "2 → 1 (flag) free"
    assert decision_text(step) == "instruction 1 need not read a flag that instruction 2 writes"


def test_the_generality_of_an_imported_discovery_is_counted_among_all_schemes(visitor, discovery):
    schemes = visitor.get(f"/discoveries/{discovery.pk}/schemes/").content.decode()
    assert f"Instruction 1: {discovery.generality:,} schemes" in text_of(schemes)
    part = visitor.get(f"/discoveries/{discovery.pk}/schemes/", headers={"X-Part": "form"}).content.decode()
    assert "<html" not in part
    assert "add GPR[64]:RW, GPR[64]:R" in part
    page = visitor.get(f"/discoveries/{discovery.pk}/").content.decode()
    assert f"the most special instruction stands for {discovery.generality:,} schemes" in text_of(page)


def test_what_an_imported_file_does_not_say_is_a_dash_and_no_number(visitor, discovery):
    Discovery.objects.update(abstract=None, generality=None)
    assert visitor.get(f"/discoveries/{discovery.pk}/schemes/").status_code == 404
    page = text_of(visitor.get(f"/discoveries/{discovery.pk}/").content.decode())
    assert "stands for" not in page
    listed = visitor.get(f"/campaigns/{discovery.campaign_id}/?tab=discoveries").content.decode()
    assert 'data-label="Generality">–<' in listed


def test_a_deep_link_shows_the_blocks_of_that_decision_with_every_answer(visitor, discovery):
    page = visitor.get(f"/discoveries/{discovery.pk}/?step=3").content.decode()
    part = text_of(page[page.index('id="step"') : page.index(">Status<")])
    assert "Step 3: instruction 1 need not have an operand GPR[64]:R" in part
    assert "rejected: 1 of 3 blocks are not interesting" in part
    assert "3 blocks, 2 interesting" in part
    assert part.count("✕ not interesting") == 1
    assert "<del>operand <code>GPR[64]:R</code></del>" in page
    failing = text_of(visitor.get(f"/discoveries/{discovery.pk}/?step=4").content.decode())
    assert "crash" in failing


def test_a_click_gets_the_part_about_a_decision_alone(visitor, discovery):
    address = f"/discoveries/{discovery.pk}/?step=2"
    whole = visitor.get(address)
    part = visitor.get(address, headers={"X-Part": "step"})
    assert "X-Part" in part["Vary"]
    assert part.content.decode().strip() in whole.content.decode()
    assert part.content.decode().lstrip().startswith('<section class="gtree-step" id="step"')
    assert "<html" not in part.content.decode()


def test_blocks_are_sorted_by_any_tool_and_failures_stay_behind(visitor, discovery):
    def second(sort: str) -> list[str]:
        page = visitor.get(f"/discoveries/{discovery.pk}/?step=4&sort={sort}").content.decode()
        return re.findall(r'data-label="two, cycles">(?:<span[^>]*>)?([\w.]+)', page)

    assert second("2") == second("-2") == ["3.00", "3.00", "crash"]
    assert second("-interest")[0] == "crash"
    assert visitor.get(f"/discoveries/{discovery.pk}/?sort=9").status_code == 400


@pytest.mark.parametrize("address", ["?g=7", "?step=99", "?g=1&step=99"])
def test_what_is_not_there_is_not_found(visitor, discovery, address):
    assert visitor.get(f"/discoveries/{discovery.pk}/{address}").status_code == 404


def test_the_number_of_queries_does_not_depend_on_the_size_of_the_tree(visitor, discovery):
    with CaptureQueriesContext(connection) as small:
        visitor.get(f"/discoveries/{discovery.pk}/")
    row = discovery.generalisations.exclude(steps_count=0).get()
    GeneralisationStep.objects.bulk_create(
        GeneralisationStep(generalisation=row, number=number, taken=False, n=0) for number in range(6, 500)
    )
    with CaptureQueriesContext(connection) as large:
        page = visitor.get(f"/discoveries/{discovery.pk}/").content.decode()
    assert len(model_of(page)) == 498
    assert len(large) == len(small) <= QUERIES


def test_the_tree_and_the_blocks_are_files_as_well(visitor, discovery):
    tree = json.loads(visitor.get(f"/discoveries/{discovery.pk}/tree.json?samples=1").content)
    assert [step["taken"] for step in tree["steps"]] == [True, True, True, False, True, False]
    assert tree["predictors"] == ["one", "two"]
    assert len(tree["steps"][3]["samples"]["blocks"]) == 3
    without = json.loads(visitor.get(f"/discoveries/{discovery.pk}/tree.json").content)
    assert "samples" not in without["steps"][3]
    blocks = visitor.get(f"/discoveries/{discovery.pk}/blocks.csv?step=4").content.decode()
    rows = list(csv.reader(io.StringIO(behind_head(blocks))))
    assert rows[0] == ["bb", "one", "two"]
    assert [row[2] for row in rows[1:]] == ["3.0", "3.0", "-1.0"]


def test_table_tree_and_words_say_the_same_of_every_value():
    values = {"memory": [], "operands": [], "lock": ["yes"], "category": ["bit"]}
    table = table_of({"instructions": [values]})
    assert all(cell not in ("", "any") for _, (cell,) in table.rows), "only what is not said is any"
    for name, value in values.items():
        node = Node(
            1, "expansion", {"instruction": 1, "feature": name, "to": value}, None, True, "", 1, 1, 0, None
        )
        assert not decision_label(node).endswith(" any")
        assert "any" not in decision_text(node).split(": ")[1].split()
    free = Node(1, "expansion", {"instruction": 1, "feature": "memory"}, None, True, "", 1, 1, 0, None)
    words = (decision_label(free), decision_text(free))
    assert words == ("1 · memory any", "instruction 1: any use of memory, or none")


def test_mark_and_note_are_kept(visitor, discovery):
    visitor.post(f"/discoveries/{discovery.pk}/edit/", {"mark": "reported", "note": "LLVM 12345"})
    discovery.refresh_from_db()
    assert (discovery.mark, discovery.note) == ("reported", "LLVM 12345")
    page = visitor.get(f"/discoveries/{discovery.pk}/").content.decode()
    assert '<span class="badge plain">reported</span>' in page
    answer = visitor.post(f"/discoveries/{discovery.pk}/edit/", {"mark": "eaten", "note": ""}, follow=True)
    assert "The judgement was not saved: mark" in answer.content.decode()
    discovery.refresh_from_db()
    assert discovery.mark == "reported"


def test_another_campaign_can_leave_it_out(visitor, discovery):
    page = visitor.get(f"/discoveries/{discovery.pk}/").content.decode()
    assert f"/campaigns/new/?from={discovery.campaign_id}&amp;exclude={discovery.pk}" in page


def test_what_our_words_do_not_say_is_shown_as_it_was(visitor, tmp_path):
    given = documents()
    given[f"discoveries/{LABEL}.json"]["ab"]["abs_insns"][0]["category"] = "NO_SUCH_CATEGORY"
    top = write_directory(tmp_path / "strange", given)
    row = store_campaign(read_part(tree_of_path(top)), "strange").discoveries.get()
    page = visitor.get(f"/discoveries/{row.pk}/")
    assert page.status_code == 200
    assert "NO_SUCH_CATEGORY" in page.content.decode()


def test_a_discovery_without_its_generalisation_still_has_a_page(visitor, tmp_path):
    given = documents()
    del given[f"witnesses/{LABEL}.json"]
    row = store_campaign(
        read_part(tree_of_path(write_directory(tmp_path / "bare", given))), "bare"
    ).discoveries.get()
    page = visitor.get(f"/discoveries/{row.pk}/")
    assert page.status_code == 200
    assert "came without the generalisation" in page.content.decode()
    assert visitor.get(f"/discoveries/{row.pk}/reproduce/").status_code == 404


@pytest.mark.shared
def test_every_discovery_tree_and_answer_of_the_published_campaign_is_shown(visitor):
    top = settings.SHARED / "data" / "anica" / "campaign_mca13_vs_mca22_hsw"
    campaign: Campaign = store_campaign(read_part(tree_of_path(top)), "published")
    assert campaign.discoveries.count() == len(list((top / "discoveries").glob("*.json")))
    answers = 0
    for row in campaign.discoveries.all():
        page = visitor.get(f"/discoveries/{row.pk}/").content.decode()
        witness = json.loads((top / "witnesses" / f"{row.label}.json").read_text())
        steps = [step for step in witness["trace"]["trace"] if step["expansion"] is not None]
        drawn = model_of(page)
        taken = sum(step["taken"] for step in steps)
        assert sum(node["taken"] + len(node["implied"]) for node in drawn) == 1 + taken
        assert sum(not node["taken"] for node in drawn) == len(steps) - taken
        assert all(node["against"] for node in drawn if not node["taken"])
        main = row.generalisations.get(label=row.label)
        tree = json.loads(visitor.get(f"/discoveries/{row.pk}/tree.json?samples=1&g={main.number}").content)
        answers += sum(len(column) for step in tree["steps"] for column in step["samples"].get("answers", ()))
    steps = GeneralisationStep.objects.filter(
        generalisation__campaign=campaign,
        generalisation__label__in=campaign.discoveries.values("label"),
    )
    assert answers == 2 * sum(steps.values_list("n", flat=True)) > 10_000
