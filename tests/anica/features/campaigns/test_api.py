"""Campaigns and discoveries by the API: the same numbers and words as on their pages."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from anica_app.formats.campaign_zip import CampaignFileKind, kind_of_content
from anica_app.models import Campaign, CampaignPredictor, Discovery
from inference.features.asking.predictors import offers as offering
from inference.features.asking.predictors.offers import Offer, Offers
from inference.models import ISA, Predictor, Run
from pmweb.models import AuditEntry
from tests.anica.formats.published import LABEL
from tests.heads import behind_head
from tests.predictors.fakes import script
from tests.rows.programs import ADD, Program, family_of


@pytest.fixture
def tools(db: None, monkeypatch: pytest.MonkeyPatch) -> list[Predictor]:
    """Two that can be asked here."""
    rows = [Predictor.objects.create(name=f"tool {name}", kind="planted", key=name * 64) for name in "cd"]
    found = Offers([Offer(row.name, row.name) for row in rows], [], [], [])
    monkeypatch.setattr(offering, "offers", lambda: found)
    return rows


def ours(tools: list[Predictor], **more: Any) -> Campaign:
    """A campaign of our own with one discovery."""
    config = {"search": {"samples": 50}, "interest": {"metric": "absolute", "threshold": 2.0}, "seed": 3}
    row = Campaign.objects.create(name="ours", origin="run", config={**config, "excluded": []}, **more)
    for position, tool in enumerate(tools):
        CampaignPredictor.objects.create(campaign=row, position=position, predictor=tool)
    abstract = {"instructions": [{"mnemonic": {"base": "bsf", "edits": 1}}]}
    row.discoveries.create(number=0, length=1, abstract=abstract, interestingness=0.7, generality=9)
    return row


def test_campaigns_are_listed_filtered_and_told_in_full(program: Program, discovery: Discovery) -> None:
    campaign = discovery.campaign
    seat = campaign.seats.get(position=0)
    (listed,) = program.get(f"/campaigns?q=small&predictor={seat.predictor_id}&kind=campaign")["items"]
    assert (listed["id"], listed["discoveries"], listed["seconds"]) == (campaign.pk, 1, 7.5)
    assert [one["name"] for one in listed["predictors"]] == ["one", "two"]
    assert program.get("/campaigns?kind=explanation")["total"] == 0
    told = program.get(f"/campaigns/{campaign.pk}")
    assert told["config"] == campaign.config
    assert (told["standing"]["sampled"], told["standing"]["interesting"]) == (2, 1)
    names = {file["path"]: file["id"] for file in told["files"]}
    assert names
    path, pk = next(iter(names.items()))
    content = b"".join(program.raw("GET", f"/campaigns/{campaign.pk}/files/{pk}").streaming_content)
    assert len(content) == next(file["size"] for file in told["files"] if file["path"] == path)
    for wrong in ("kind=dance", "sort=age", "cursor=none", "predictor=-1"):
        assert program("GET", f"/campaigns?{wrong}")[0] == 422, wrong


def test_a_campaign_is_renamed_taken_away_and_deleted(program: Program, discovery: Discovery) -> None:
    path = f"/campaigns/{discovery.campaign_id}"
    assert program("PATCH", path, {"name": "better", "note": "seen"})[1]["name"] == "better"
    table = behind_head(program.raw("GET", f"{path}/exports/csv").content.decode())
    assert LABEL in table
    archive = b"".join(program.raw("GET", f"{path}/exports/zip").streaming_content)
    assert kind_of_content(archive) is CampaignFileKind.ARCHIVE
    assert zipfile.ZipFile(io.BytesIO(archive)).testzip() is None
    assert program("DELETE", path)[0] == 204
    assert program("GET", path)[0] == 404


def test_a_campaign_that_goes_on_is_not_deleted(program: Program, tools: list[Predictor]) -> None:
    row = ours(tools, run=Run.objects.create(name="works", kind="campaign", state="queued"))
    told = program.get(f"/campaigns/{row.pk}/dependents")
    assert {"what": "Its run has not ended", "fate": "cancel it first", "blocks": True} in told
    assert {"what": "1 discovery", "fate": "deleted with it", "blocks": False} in told
    status, answer = program("DELETE", f"/campaigns/{row.pk}")
    assert (status, answer["problems"][0]["what"]) == (409, "Its run has not ended")


def test_discoveries_are_sorted_and_counted_as_on_the_page(program: Program, tools: list[Predictor]) -> None:
    row = ours(tools)
    first = row.discoveries.get()
    crash = row.discoveries.create(number=1, length=1, interestingness=float("inf"), concrete=True)
    row.discoveries.create(number=2, length=1, subsumed_by=first)
    path = f"/campaigns/{row.pk}/discoveries"
    found = program.get(path)
    assert [one["id"] for one in found["items"]] == [crash.pk, first.pk]
    assert [one["interestingness"] for one in found["items"]] == ["infinite", 0.7]
    assert found["items"][1]["words"]["instructions"][0]
    assert program.get(f"{path}?subsumed=true&sort=number&limit=2")["total"] == 3
    assert program("GET", f"{path}?sort=coverage")[0] == 409
    assert program("GET", f"/campaigns/{row.pk}/best")[0] == 409
    run = program("POST", f"/campaigns/{row.pk}/coverages", {})[1]
    counts = {str(first.pk): 5, str(crash.pk): 2}
    best = [{"chosen": [first.pk], "covered": 5, "proven": True}]
    result = {"blocks": 8, "covered": 5, "by_discovery": counts, "best": best, "by_campaign": {}}
    Run.objects.filter(pk=run["id"]).update(state="done", result=result)
    found = program.get(f"{path}?sort=-coverage")
    assert [(one["id"], one["covered"]) for one in found["items"]] == [(first.pk, 5), (crash.pk, 2)]
    assert (found["blocks"], found["over"]) == (8, "interesting random blocks of the campaign itself")
    chosen = program.get(f"/campaigns/{row.pk}/best?k=3")
    assert (chosen["k"], chosen["covered"], chosen["discoveries"][0]["id"]) == (1, 5, first.pk)


def test_a_longer_selection_takes_as_many_queries(program: Program, tools: list[Predictor]) -> None:
    row = ours(tools)
    numbers = [
        row.discoveries.get().pk,
        *(row.discoveries.create(number=n, length=1).pk for n in range(1, 4)),
    ]
    run = program("POST", f"/campaigns/{row.pk}/coverages", {})[1]
    best = [{"chosen": numbers[:k], "covered": k, "proven": True} for k in range(1, 5)]
    counts = {str(number): 1 for number in numbers}
    result = {"blocks": 8, "covered": 4, "by_discovery": counts, "best": best, "by_campaign": {}}
    Run.objects.filter(pk=run["id"]).update(state="done", result=result)
    queries = []
    for k in (1, 1, 4):  # the first one reads what is kept afterwards
        with CaptureQueriesContext(connection) as told:
            assert len(program.get(f"/campaigns/{row.pk}/best?k={k}")["discoveries"]) == k
        queries.append(len(told))
    assert queries[1] == queries[2]


def test_the_batches_of_a_campaign_have_their_blocks_with_all_answers(
    program: Program, discovery: Discovery
) -> None:
    path = f"/campaigns/{discovery.campaign_id}/batches"
    listed = program.get(path)["items"]
    batch = next(one for one in listed if one["n"] == 2)
    blocks = program.get(f"{path}/{batch['number']}/blocks?sort=-1")["items"]
    assert [answer["predictor"] for answer in blocks[0]["answers"]] == ["one", "two"]
    assert sum(bool(block["interesting"]) for block in blocks) == batch["interesting"]


def test_a_campaign_is_described_checked_and_started_by_names(
    program: Program, reader: Program, tools: list[Predictor], isa: Any
) -> None:
    body = {"predictors": ["tool c", "tool d"], "settings": {"samples": 20}, "end": {"blocks": 100}}
    plan = program("POST", "/campaigns/check", body)[1]
    assert plan["config"]["predictors"] == [row.pk for row in tools]
    assert (plan["config"]["search"]["samples"], plan["config"]["end"]["blocks"]) == (20, 100)
    assert plan["schemes"] == isa.schemes.count()
    status, made = program("POST", "/campaigns", {**body, "name": "by name"})
    assert (status, made["campaign"]["name"]) == (201, "by name")
    run = Run.objects.get(pk=made["run"]["id"])
    assert run.config == plan["config"]
    assert Campaign.objects.get(pk=made["campaign"]["id"]).run == run
    assert reader("POST", "/campaigns/check", body)[0] == 403, "it may store a predictor"
    known = {one["name"] for one in program.get("/campaigns/settings")["settings"]}
    assert {"samples", "threshold", "aliasing"} <= known
    for wrong in (
        {},
        {"predictors": ["reboot"]},
        {**body, "settings": {"speed": 1}},
        {**body, "preset": "a"},
    ):
        status, answer = program("POST", "/campaigns", wrong)
        assert status == 422, answer


def test_a_campaign_like_another_excludes_what_that_has_found(
    program: Program, tools: list[Predictor]
) -> None:
    row = ours(tools)
    discovery = row.discoveries.get()
    body = {"like": row.pk, "excluded": [discovery.pk], "settings": {"threshold": 3.0}}
    config = program("POST", "/campaigns", body)[1]["run"]
    config = Run.objects.get(pk=config["id"]).config
    assert config["excluded"] == [{"discovery": discovery.pk, "abstract": discovery.abstract}]
    assert config["predictors"] == [tool.pk for tool in tools]
    assert (config["search"]["samples"], config["seed"]) == (50, 3)
    assert (config["interest"]["metric"], config["interest"]["threshold"]) == ("absolute", 3.0)
    assert program("POST", "/campaigns", {**body, "excluded": [10**6]})[0] == 422


def test_campaigns_are_compared(program: Program, tools: list[Predictor]) -> None:
    one, other = ours(tools), Campaign.objects.create(name="theirs", origin="import", config={"seed": 4})
    mine, theirs = one.discoveries.get(), other.discoveries.create(number=0, length=1)
    query = f"?campaigns={other.pk}&campaigns={one.pk}"
    before = program.get(f"/campaign-comparisons{query}")
    assert {"name": "seed", "values": [3, 4]} in before["differing"]
    assert {"name": "search.samples", "values": [50, None]} in before["differing"]
    assert (before["coverage"], before["sides"][0]["alone"]) == (None, None)
    result = {
        "blocks": 10,
        "covered": 7,
        "discoveries": [mine.pk, theirs.pk],
        "overlap": {str(theirs.pk): [mine.pk]},
        "by_campaign": {str(one.pk): 6, str(other.pk): 2},
        "by_discovery": {str(mine.pk): 6, str(theirs.pk): 2},
    }
    config = {"campaigns": [one.pk, other.pk]}
    run = Run.objects.create(name="both", kind="coverage", state="done", config=config, result=result)
    after = program.get(f"/campaign-comparisons{query}")
    assert (after["coverage"], after["shared"]) == (run.pk, [[None, 0], [1, None]])
    assert [(side["alone"], side["covered"]) for side in after["sides"]] == [(1, 6), (0, 2)]
    (alone,) = program.get(f"/campaign-comparisons/alone{query}")["items"]
    assert (alone["id"], alone["campaign"]["id"], alone["covered"]) == (mine.pk, one.pk, 6)
    assert program("GET", f"/campaign-comparisons?campaigns={one.pk}&campaigns=99")[0] == 422
    assert program("GET", f"/campaign-comparisons?campaigns={one.pk}&campaigns={one.pk}")[0] == 422


# ---- discoveries


def test_a_discovery_is_told_in_words_as_constraints_and_with_examples(
    program: Program, discovery: Discovery
) -> None:
    path = f"/discoveries/{discovery.pk}"
    told = program.get(path)
    assert told["label"] == LABEL
    assert "does not access memory" in str(told["words"])
    assert {"feature": "memory", "values": ["none"]} in told["constraints"]["features"]
    assert told["abstract"] == discovery.abstract
    assert [one["became"] for one in told["generalisations"]].count("discovery") == 1
    examples = program.get(f"{path}/examples")["items"]
    assert len(examples) == 3
    assert {answer["failure"] for one in examples for answer in one["answers"]} == {None, "crash"}
    assert "infinite" in {one["interestingness"] for one in examples}


def test_a_discovery_is_marked_and_noted_each_alone(
    program: Program, discovery: Discovery, administrator: User
) -> None:
    path = f"/discoveries/{discovery.pk}"
    assert program("PATCH", path, {"mark": "reported"})[1]["mark"] == "reported"
    told = program("PATCH", path, {"note": "PR 7"})[1]
    assert (told["mark"], told["note"]) == ("reported", "PR 7")
    entry = AuditEntry.objects.filter(action="changed", object_id=discovery.pk).first()
    assert entry is not None
    assert (entry.actor, entry.via) == (administrator, "API")
    assert program("PATCH", path, {"mark": "forgotten"})[0] == 422


def test_discoveries_of_all_campaigns_are_listed_by_mark_and_by_what_they_speak_of(
    program: Program, discovery: Discovery, isa: ISA
) -> None:
    row = ours([])
    bsf = row.discoveries.get()
    Discovery.objects.filter(pk=bsf.pk).update(mark="known", code=bytes.fromhex("4801d8"))
    assert [one["id"] for one in program.get("/discoveries")["items"]] == [bsf.pk, discovery.pk]
    assert [one["campaign"]["id"] for one in program.get("/discoveries?mark=known")["items"]] == [row.pk]
    add = isa.schemes.get(text=ADD)
    told = program.get(f"/discoveries/mentioning/{add.pk}")
    assert bsf.pk in {one["id"] for one in told["discoveries"] if one["how"] == "named"}
    assert told["looked"] == 2


def test_what_reproduces_a_discovery_is_what_its_page_gives(
    program: Program, discovery: Discovery, client: Client, administrator: User
) -> None:
    client.force_login(administrator)
    told = program.get(f"/discoveries/{discovery.pk}/reproduction")
    page = f"/discoveries/{discovery.pk}"
    assert told["report"] == client.get(f"{page}/report.md").content.decode()
    assert told["compiler_explorer"] == client.get(f"{page}/compiler-explorer.json").json()
    assert told["commands"]
    assert program.raw("GET", f"{page}/exports/md").content.decode() == told["report"]
    assert program.get(f"{page}/reproduction?block=90")["hex"] == "90"
    assert program("GET", f"{page}/reproduction?block=zz")[0] == 422


def test_the_tree_is_read_in_pages_step_by_step_or_as_a_whole(
    program: Program, discovery: Discovery, client: Client, administrator: User
) -> None:
    client.force_login(administrator)
    path = f"/discoveries/{discovery.pk}"
    page = program.get(f"{path}/steps?limit=4")
    assert (page["total"], [step["taken"] for step in page["items"]]) == (6, [True, True, True, False])
    step = program.get(f"{path}/steps/3")
    assert (step["n"], step["interesting"], step["columns"]) == (3, 2, ["one", "two"])
    assert step["before"] != step["tried"]
    blocks = program.get(f"{path}/steps/4/blocks?sort=-2")["items"]
    assert [block["answers"][1]["failure"] for block in blocks] == [None, None, "crash"]
    whole = program.raw("GET", f"{path}/tree?samples=true").json()
    assert whole == client.get(f"{path}/tree.json?samples=1").json()
    assert behind_head(program.raw("GET", f"{path}/steps/4/exports/csv").content.decode()).startswith("bb,")
    for wrong, status in (("steps/99", 404), ("steps?generalisation=9", 404), ("steps/4/blocks?sort=9", 422)):
        assert program("GET", f"{path}/{wrong}")[0] == status, wrong


def test_the_blocks_of_a_step_are_asked_about_again(
    program: Program, discovery: Discovery, tools: list[Predictor]
) -> None:
    path = f"/discoveries/{discovery.pk}/steps/4"
    status, run = program("POST", f"{path}/questions", {"predictors": ["tool c"], "anew": True})
    assert status == 201
    config = Run.objects.get(pk=run["id"]).config
    shown = [block["hex"] for block in program.get(f"{path}/blocks")["items"]]
    assert (config["predictors"], config["blocks"], config["anew"]) == ([tools[0].pk], shown, True)
    assert [one["id"] for one in program.get(path)["working"]] == [run["id"]]
    refused = program("POST", f"{path}/questions", {"predictors": ["command:command=reboot"]})
    assert refused[0] == 422
    empty = program("POST", f"/discoveries/{discovery.pk}/steps/1/questions", {"predictors": ["tool c"]})
    assert empty[0] == 409


# ---- predictors


def test_predictors_are_added_listed_and_removed_by_administrators_alone(
    program: Program, reader: Program, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {one["kind"]: one for one in program.get("/predictors/kinds")}
    assert {option["name"]: option["chooses"] for option in kinds["iaca"]["options"]}["arch"] == ""
    script(tmp_path / "iaca", "echo Block Throughput: 1.00")
    monkeypatch.setenv("PATH", str(tmp_path))
    body = {"kind": "iaca", "options": {"arch": "SKL"}, "name": "mine", "note": "a test"}
    assert reader("POST", "/predictors/configurations", body)[0] == 403
    status, made = program("POST", "/predictors/configurations", body)
    assert (status, made["name"], made["origin"], made["note"]) == (201, "mine", "configured", "a test")
    assert program("POST", "/predictors/configurations", {**body, "name": ""})[0] == 200
    assert program("POST", "/predictors/configurations", body)[0] == 409
    wrong = {"kind": "iaca", "options": {"colour": "red"}}
    status, answer = program("POST", "/predictors/configurations", wrong)
    assert (status, "colour" in answer["detail"]) == (422, True)
    (listed,) = [one for one in program.get("/predictors/configurations") if one["name"] == "mine"]
    assert (listed["id"], listed["reason"]) == (made["id"], "")
    path = f"/predictors/configurations/{made['id']}"
    campaign = Campaign.objects.create(name="asked it", origin="import")
    seat = CampaignPredictor.objects.create(campaign=campaign, position=0, predictor_id=made["id"])
    assert program("DELETE", path)[0] == 409
    seat.delete()
    assert program("DELETE", path)[0] == 204
    assert not Predictor.objects.filter(pk=made["id"]).exists()


# ---- LLVM's model


def test_a_difference_to_llvm_is_read_and_taken_away(program: Program, difference: Run) -> None:
    path = f"/llvm-differences/{difference.pk}"
    told = program.get(path)
    assert (told["asked"], told["within"], told["differing"]) == (3, 1, 1)
    (scheme,) = program.get(f"{path}/schemes")["items"]
    assert (scheme["llvm"], scheme["verdict"]) == (1.0, "too slow by a factor of 2")
    assert "llvm-mca 22.1.0" in program.raw("GET", f"{path}/exports/md").content.decode()
    mapping = difference.config["mapping"]
    (listed,) = program.get(f"/llvm-differences?mapping={mapping}")["items"]
    assert "report" not in listed["result"]
    assert program.get(f"/llvm-differences?mapping={mapping + 1}")["items"] == []
    status, _ = program("POST", "/llvm-differences", {"mapping": mapping, "cpu": "a b"})
    assert status == 422


def test_families_are_listed_told_marked_and_reported(program: Program, discovery: Discovery) -> None:
    family = family_of(discovery)
    campaign = discovery.campaign
    campaign.facts["families"] = {
        "judged": 100,
        "disagreements": 20,
        "explained": 10,
        "by_ten": 10,
        "fresh": True,
        "questions": 0,
        "against": None,
        "judge": {
            "predictor": 7,
            "name": "lab",
            "answered": 9,
            "unanswered": 0,
            "league": [
                {
                    "class": "",
                    "blocks": 9,
                    "disputed": 2,
                    "right": [1, 0],
                    "neither": 1,
                    "errors": [0.1, None],
                }
            ],
        },
    }
    campaign.save()
    listed = program.get(f"/campaigns/{campaign.pk}/families")
    assert listed["sentence"].startswith("one and two differ on 20.0")
    assert [one["members"] for one in listed["items"]] == [[0]]
    assert listed["judge"]["league"][0]["instruction_class"] == ""
    told = program.get(f"/families/{family.pk}")
    assert (told["bound"], told["assembly"], told["measured"]) == ("ports", ["add rax, rbx"], False)
    assert [one["id"] for one in told["discoveries"]] == [discovery.pk]
    marked = program("PATCH", f"/families/{family.pk}", {"mark": "known", "note": "old news"})[1]
    assert (marked["mark"], marked["note"]) == ("known", "old news")
    assert program("PATCH", f"/families/{family.pk}", {"mark": "eaten"})[0] == 422
    report = program.get(f"/families/{family.pk}/report")
    assert report["body"].startswith(f"# {report['title']}\n")
    assert program.raw("GET", f"/families/{family.pk}/exports/md").content.decode() == report["body"]
    status, run = program("POST", f"/campaigns/{campaign.pk}/families", {"evaluate": 0})
    assert (status, run["kind"]) == (201, "families")
    assert program("POST", f"/campaigns/{campaign.pk}/families", {"against": 10**6})[0] == 422
