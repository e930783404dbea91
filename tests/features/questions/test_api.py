"""Asking predictors through the API, reading their answers, and the load of ports."""

from __future__ import annotations

import pytest

from anica_app.models import Campaign
from inference.features.asking.predictors import offers as offering
from inference.features.asking.predictors.query import PredictorListing
from inference.features.asking.questions.query import PredictorReport, event_of
from inference.models import BasicBlockSet, PortMapping, Predictor, Run
from inference.predictors.kinds import KINDS
from inference.predictors.protocol import Answer, Failure
from inference.runs.journal import write
from tests.rows.programs import Program

CODE = "add rax, rbx\nimul rcx, rdx"


@pytest.fixture(autouse=True)
def tool(db: None, monkeypatch: pytest.MonkeyPatch) -> Predictor:
    """The one tool of this computer."""
    row = Predictor.objects.create(name="the tool", kind="command", key="t" * 64)
    monkeypatch.setattr(
        offering,
        "predictor_listings",
        lambda among: [PredictorListing(KINDS["command"], row.name, "1.2", {}, row=row)],
    )
    return row


def test_who_can_be_asked_is_listed_by_the_names_that_questions_take(program: Program, mapping: PortMapping):
    told = program.get("/predictors")
    assert [(one["predictor"], one["kind"]) for one in told] == [
        ("the tool", "tool"),
        ("mapping:mapping=three ports", "mapping"),
    ]


def test_a_question_is_asked_and_its_answers_are_read_as_they_come(program: Program, tool: Predictor):
    status, asked = program("POST", "/questions", {"code": f"{CODE}\n\n90", "predictors": ["the tool"]})
    assert status == 201, asked
    assert [block["hex"] for block in asked["blocks"]] == ["4801d8480fafca", "90"]
    assert asked["predictors"] == [
        {"id": tool.pk, "name": "the tool", "answered": False, "error": "", "answers": []}
    ]
    late = Answer(failure=Failure.TIMEOUT, detail="20 s are over")
    first, second = (bytes.fromhex(block["hex"]) for block in asked["blocks"])
    said = PredictorReport(tool.pk, tool.name, {first: Answer(cycles=1.25), second: late})
    write(Run.objects.all(), asked["run"]["id"], [event_of(said, "x86-64").entry])
    read = program.get(f"/questions/{asked['run']['id']}")
    assert read["page"] == f"/blocks/{asked['run']['id']}/"
    assert read["predictors"][0]["answers"] == [
        {"cycles": 1.25, "failure": None, "detail": "", "asked_as": ""},
        {"cycles": None, "failure": "timeout", "detail": "20 s are over", "asked_as": ""},
    ]


def test_without_names_the_usual_ones_are_asked(program: Program, mapping: PortMapping):
    status, asked = program("POST", "/questions", {"code": "90"})
    assert status == 201
    assert [one["name"] for one in asked["predictors"]] == ["the tool", "mapping three ports"]


def test_memory_dependencies_are_asked_of_one_block(program: Program):
    body = {"code": "add qword ptr [rcx], rbx", "predictors": ["the tool"], "memory": True}
    status, asked = program("POST", "/questions", body)
    assert status == 201
    assert [len(block["assembly"]) for block in asked["blocks"]] == [2, 2, 2]
    for code, said in (("90\n\n90", "one block, not for 2"), ("90", "accesses memory at an address")):
        status, refused = program("POST", "/questions", {**body, "code": code})
        assert status == 422
        assert said in refused["detail"]


@pytest.mark.parametrize("path", ["/questions", "/explanations"])
def test_nothing_but_what_is_offered_can_be_named(program: Program, path: str):
    body = {"code": "90", "predictors": ["command:command=/bin/sh,form=hex"]}
    status, refused = program("POST", path, body)
    assert status == 422
    assert refused["problems"][0]["where"] == "body predictors"
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/questions", {"code": CODE, "memory": True}),
        ("/explanations", {"code": CODE, "metric": "by feel"}),
        ("/matrices", {"blocks": 50, "interest": {"metric": "by feel", "threshold": 0.5}}),
        ("/predictor-comparisons", {"experiment_set": 10**6}),
        ("/block-sets/{block_set}/columns", {}),
    ],
    ids=lambda asked: asked.strip("/").partition("/")[0] if isinstance(asked, str) else "",
)
def test_what_is_refused_stores_no_predictor(
    program: Program,
    mapping: PortMapping,
    block_set: BasicBlockSet,
    tool: Predictor,
    path: str,
    body: dict[str, object],
):
    block_set.columns.filter(position=0).update(predictor=tool)  # so the set needs no other one of it
    asked = {**body, "predictors": ["the tool", f"mapping:mapping={mapping.name}"]}
    assert program("POST", path.format(block_set=block_set.pk), asked)[0] == 422
    assert list(Predictor.objects.all()) == [tool]


def test_an_explanation_starts_the_run_of_the_page(program: Program, mapping: PortMapping):
    body = {"code": CODE, "predictors": ["the tool", "mapping three ports"], "threshold": 0.3}
    status, made = program("POST", "/explanations", body)
    assert status == 201, made
    campaign = Campaign.objects.get(pk=made["campaign"]["id"])
    assert made["page"] == f"/campaigns/{campaign.pk}/"
    assert campaign.config["interest"]["threshold"] == 0.3
    status, refused = program("POST", "/explanations", {**body, "metric": "by feel"})
    assert status == 422
    assert "metric" in refused["detail"]


def test_the_load_of_ports_is_told_instruction_by_instruction(reader: Program, mapping: PortMapping):
    path = f"/mappings/{mapping.pk}/block-loads"
    status, told = reader("POST", path, {"code": f"{CODE}\n\nmov rax, [rbx]"})
    assert status == 200
    block, other = told["blocks"]
    assert told["ports"] == ["p0", "p1", "p5"]
    assert (block["cycles"], block["described"]) == (1.0, True)
    assert [one["text"] for one in block["instructions"]] == ["add rax, rbx", "imul rcx, rdx"]
    assert block["instructions"][1]["loads"] == [0.0, 1.0, 0.0]
    assert other["cycles"] is None
    assert other["instructions"][0]["uops"] is None


def test_a_loop_s_answers_say_how_it_was_asked_and_it_is_explained_without_its_jump(
    program: Program, tool: Predictor
):
    code = "again: add rax, [rcx+16]\ncmp rax, rdx\njne again"
    status, asked = program("POST", "/questions", {"code": code, "predictors": [tool.name]})
    assert status == 201
    (block,) = asked["blocks"]
    assert block["assembly"][-1] == "jne .loop"
    said = PredictorReport(tool.pk, tool.name, {bytes.fromhex(block["hex"]): Answer(cycles=1.0)})
    write(Run.objects.all(), asked["run"]["id"], [event_of(said, "x86-64").entry])
    read = program.get(f"/questions/{asked['run']['id']}")
    (answer,) = read["predictors"][0]["answers"]
    assert answer["asked_as"] == "branch left out"
    _, explained = program("POST", "/explanations", {"code": code, "predictors": [tool.name]})
    assert Run.objects.get(pk=explained["run"]["id"]).config["block"] == "480341104839d0"
