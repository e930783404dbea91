"""Basic-block sets by the API: a file becomes one, its blocks, columns, accuracy, coverage and matrices."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from inference.features.asking.predictors import offers as offering
from inference.features.asking.predictors.offers import Offer, Offers
from inference.features.judging.column_accuracy import accuracy
from inference.models import ISA, BasicBlockSet, Predictor, Run
from tests.features.runs.test_api import done
from tests.heads import behind_head
from tests.rows.programs import BLOCKS, Program


def test_a_file_is_previewed_imported_and_exported_again(program: Program, isa: ISA) -> None:
    file = SimpleUploadedFile("blocks.csv", BLOCKS + b"zz,1,1\n")
    headers = {"Authorization": f"Bearer {program.token}"}
    (kept,) = program.client.post("/api/v1/uploads", {"files": [file]}, headers=headers).json()
    seen = program.get(f"/block-sets/files/{kept['id']}?issue_width=2")
    assert (seen["rows"], seen["left_out"], seen["problems"][0]["row"]) == (3, 1, 5)
    assert [column["scale"] for column in seen["columns"]] == ["cycles", "cycles"]
    assert seen["first"][0] == {"row": 2, "isa": "x86-64", "hex": "4801d8", "numbers": [1.0, 1.1]}
    config = {"upload": kept["id"], "name": "mine", "broken": "skip"}
    run = program("POST", "/runs", {"kind": "import-anica", "config": config})[1]
    done(run["id"])
    made = BasicBlockSet.objects.get(name="mine")
    exported = program.raw("GET", f"/block-sets/{made.pk}/exports/csv").getvalue().decode()
    assert behind_head(exported).count("\n") == 4
    (listed,) = program.get("/block-sets?q=mine")["items"]
    assert (listed["blocks"], listed["columns"]) == (3, 2)
    assert program.get(f"/block-sets/{made.pk}")["report"]["left_out"] == 1


def test_blocks_come_with_all_answers_searched_and_sorted(program: Program, block_set: BasicBlockSet) -> None:
    path = f"/block-sets/{block_set.pk}/blocks"
    first = program.get(path)["items"][0]
    assert (first["assembly"], first["length"]) == (["add rax, rbx"], 1)
    assert first["answers"] == {
        "one": {"cycles": 1.0, "failure": None},
        "two": {"cycles": 1.1, "failure": None},
    }
    by_two = program.get(f"{path}?sort=-column:two")["items"]
    assert [row["position"] for row in by_two] == [1, 0]
    failed = program.get(f"{path}?column=two&told=failure")["items"]
    assert failed[0]["answers"]["two"] == {"cycles": None, "failure": "no number"}
    assert program.get(f"{path}?q=imul&limit=1")["total"] == 1
    for wrong in ("sort=column:three", "sort=age", "column=three&told=number", "q=a;b", "cursor=none"):
        assert program("GET", f"{path}?{wrong}")[0] == 422, wrong


def test_columns_are_told_asked_for_and_removed(
    program: Program, block_set: BasicBlockSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/block-sets/{block_set.pk}"
    two = program.get(path)["column_list"][1]
    assert (two["numbers"], two["failures"], two["most"]) == (2, 1, 3.0)
    tool = Predictor.objects.create(name="tool", kind="command", key="t" * 64)
    monkeypatch.setattr(offering, "offers", lambda: Offers([Offer("tool", "tool", "1")], [], [], []))
    refused = program("POST", f"{path}/columns", {"predictors": ["command:command=reboot"]})
    assert refused[0] == 422
    run = program("POST", f"{path}/columns", {"predictors": ["tool"]})[1]
    assert Run.objects.get(pk=run["id"]).config == {
        "block_set": block_set.pk,
        "predictors": [tool.pk],
        "mode": "",
    }
    assert program("DELETE", f"{path}/columns/{two['id']}")[0] == 204
    assert [column["name"] for column in program.get(path)["column_list"]] == ["one"]


def test_columns_are_compared_with_one(
    program: Program, block_set: BasicBlockSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/block-sets/{block_set.pk}/accuracy"
    (two,) = program.get(f"{path}?reference=one")["columns"]
    assert (two["n"], two["numbers"], two["failures"], two["worst"]) == (2, 2, 1, [1, 0])
    assert two["mape"] == pytest.approx(105.0)
    assert sum(map(sum, two["heat_map"]["counts"])) == 2
    status, answer = program("GET", f"{path}?reference=three")
    assert (status, "only one, two" in answer["detail"]) == (422, True)
    monkeypatch.setattr(accuracy, "MAX_WITHOUT_RUN", 1)
    assert program("GET", f"{path}?reference=one")[0] == 409
    run = program("POST", path, {"reference": "one"})[1]
    done(run["id"])
    assert program.get(f"{path}?reference=one")["columns"][0]["worst"] == [1, 0]


def test_what_campaigns_explain_is_told_with_what_is_left(program: Program, coverage: Run) -> None:
    found = program.get(f"/coverages/{coverage.pk}")
    assert (found["blocks"], found["covered"], found["best"][0]["covered"]) == (2, 1, 1)
    (left,) = program.get(f"/coverages/{coverage.pk}/uncovered")["items"]
    assert (left["hex"], left["answers"]["two"]["cycles"]) == ("480fafc3", 3.0)
    assert coverage.pk in _ids(program.get(f"/coverages?campaign={coverage.config['campaigns'][0]}"))
    assert _ids(program.get("/coverages?campaign=2")) == []
    assert _ids(program.get(f"/coverages?block_set={coverage.config['block_set']}")) == [coverage.pk]
    status, answer = program("POST", "/coverages", {"campaigns": [999]})
    assert (status, "campaigns" in answer["detail"]) == (422, True)
    Run.objects.filter(pk=coverage.pk).update(state="queued")
    assert program("GET", f"/coverages/{coverage.pk}")[0] == 409


def test_a_matrix_is_started_read_and_opened(program: Program, matrix: Run) -> None:
    found = program.get(f"/matrices/{matrix.pk}")
    assert (found["both"][0][1], found["differing"][0][1]) == (2, 1)
    (block,) = program.get(f"/matrices/{matrix.pk}/cells/0/1")["items"]
    assert block["position"] == 1
    assert program("GET", f"/matrices/{matrix.pk}/cells/1/1")[0] == 404
    columns = [column["id"] for column in found["columns"]]
    body = {"block_set": found["block_set"], "columns": columns, "interest": {"metric": "absolute"}}
    run = program("POST", "/matrices", body)[1]
    assert Run.objects.get(pk=run["id"]).config["interest"]["metric"] == "absolute"
    assert len(_ids(program.get("/matrices"))) == 2
    assert program("POST", "/matrices", {**body, "columns": columns[:1]})[0] == 422


def _ids(answer: Any) -> list[int]:
    return [row["id"] for row in answer["items"]]


def test_a_baseline_is_read_and_columns_are_held_against_it(
    program: Program, reader: Program, block_set: BasicBlockSet
) -> None:
    path = f"/block-sets/{block_set.pk}/accuracy/baseline"
    kept = program.get(f"{path}?reference=one")
    assert (kept["set"], kept["blocks"], [column["name"] for column in kept["columns"]]) == (
        "three blocks",
        3,
        ["two"],
    )
    assert program("GET", f"{path}?reference=one&column=three")[0] == 422
    status, answer = reader("POST", f"{path}/judged", {"baseline": kept, "tolerance": 0})
    assert (status, answer["worse"]) == (200, [])
    better = {**kept, "columns": [{**kept["columns"][0], "mape": 10.0, "answered": 3}]}
    answer = reader("POST", f"{path}/judged", {"baseline": better})[1]
    assert (answer["worse"], len(answer["columns"][0]["reasons"])) == (["two"], 2)
    for wrong in ({**kept, "digest": "1" * 64}, {**kept, "reference": "three"}, {**kept, "version": 2}):
        assert reader("POST", f"{path}/judged", {"baseline": wrong})[0] == 422


def test_an_accuracy_check_is_started_and_read(
    program: Program, accuracy_check: Run, machine: Any, block_set: BasicBlockSet
) -> None:
    found = program.get(f"/accuracy-checks/{accuracy_check.pk}")
    assert (found["machine"], found["blocks"], found["run"]["result"]) == (machine.name, 3, {})
    assert [one["name"] for one in found["predictors"]] == ["good tool", "bad tool"]
    assert found["predictors"][1]["worst"][0]["error"] == 100
    assert found["again"]["mape"] == pytest.approx(1.0)
    body = {"machine": machine.pk, "block_set": block_set.pk, "blocks": 20}
    run = program("POST", "/accuracy-checks", body)[1]
    assert Run.objects.get(pk=run["id"]).config["blocks"] == 20
    assert program("GET", f"/accuracy-checks/{run['id']}")[0] == 409
    assert _ids(program.get(f"/accuracy-checks?machine={machine.pk}")) == [run["id"], accuracy_check.pk]
    assert _ids(program.get("/accuracy-checks?machine=999")) == []
    assert program("POST", "/accuracy-checks", {**body, "predictors": ["command:command=reboot"]})[0] == 422
    assert program("POST", "/accuracy-checks", {**body, "blocks": 1})[0] == 422
