"""An explanation as one document: the API's operation, the command, and files of timelines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management.base import CommandError

from tests.doors import printed
from tests.rows.programs import Program, reader

__all__ = ["reader"]

RECORDED = "Recorded Zen 4"
HASH = """.L3:
movzx ecx, byte ptr [rdi]
add rdi, 1
xor eax, ecx
imul eax, eax, 16777619
cmp rdi, rsi
jne .L3"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of the loop."""
    path = tmp_path / "hash.s"
    path.write_text(HASH)
    return path


def explained(program: Program, **fields: Any) -> tuple[int, dict[str, Any]]:
    return program("POST", "/block-explanations", {"code": HASH, **fields})


def test_a_site_without_a_core_model_answers_with_the_recorded_one(reader: Program) -> None:
    status, answer = explained(reader)
    assert status == 200, answer
    assert (answer["model"], answer["recorded"]) == (RECORDED, True)
    assert (answer["bound"], answer["chain"]) == ("dependencies", [3, 4])
    assert answer["cycles"] == max(answer["bounds"].values()) == pytest.approx(4.0, abs=0.1)
    assert answer["range"] == {"low": answer["cycles"], "high": answer["cycles"]}
    assert answer["bounds"].keys() == answer["ranges"].keys() == answer["why"].keys()
    assert answer["timeline"] is answer["measured"] is None
    assert sum(step["cycles"] for step in answer["steps"]) == pytest.approx(answer["cycles"], abs=0.01)
    critical = [edge for edge in answer["dependencies"] if edge["critical"]]
    assert {(edge["producer"], edge["consumer"]) for edge in critical} == {(3, 4), (4, 3)}


def test_tools_are_part_of_the_document_on_request(reader: Program) -> None:
    assert explained(reader)[1]["tools"] is None
    _, answer = explained(reader, tools=True)
    assert answer["tools"][0]["name"] == f"Core model {RECORDED}"
    assert answer["tools"][0]["cycles"] == pytest.approx(answer["cycles"], abs=1e-3)
    assert all((tool["cycles"] is None) == bool(tool["reason"]) for tool in answer["tools"])


def test_the_columns_of_pressure_sum_to_the_loads_of_the_ports(reader: Program) -> None:
    _, answer = explained(reader)
    rows = [instruction["pressure"] for instruction in answer["instructions"] if instruction["pressure"]]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    assert sums == pytest.approx([port["cycles"] for port in answer["ports"]], abs=0.01)
    assert [instruction["line"] for instruction in answer["instructions"]] == [2, 3, 4, 5, 6, 7]


def test_changes_of_the_question_change_the_answer(reader: Program) -> None:
    _, plain = explained(reader)
    key = next(edge["key"] for edge in plain["dependencies"] if edge["critical"])
    _, without = explained(reader, without=key)
    assert without["cycles"] < plain["cycles"]
    assert without["changes"] == {"without": [key], "loads_hit": False, "latencies": {}}
    _, slower = explained(reader, code=HASH.replace("16777619", "16777619 # LATENCY 40"))
    assert slower["cycles"] == pytest.approx(plain["cycles"] + 37, abs=0.1)
    assert slower["changes"]["latencies"] == {"4": 40}
    _, omitted = explained(reader, omit="dependencies,memory")
    assert not {"dependencies", "memory"} & omitted["bounds"].keys()


def test_versions_stand_beside_the_loop(reader: Program) -> None:
    _, plain = explained(reader)
    assert plain["versions"] == []
    _, answer = explained(reader, unroll=2, other="another", before=HASH.replace("xor", "add"))
    assert [version["label"] for version in answer["versions"]] == ["A: before", "B: now", "Unrolled ×2"]
    assert answer["versions"][1]["bounds"] == answer["bounds"] == plain["bounds"]
    assert answer["notes"] == ["There is no core model 'another' to compare with."]


def test_a_timeline_has_the_requested_iterations(reader: Program) -> None:
    _, answer = explained(reader, timeline=3)
    assert answer["timeline"]["iterations"] == 3
    assert answer["timeline"]["cycles"] == pytest.approx(answer["simulated"], abs=0.001)


def test_what_nothing_is_known_of_leaves_the_cycles_open(reader: Program) -> None:
    status, answer = explained(reader, code="cpuid", timeline=2)
    assert status == 200, answer
    assert (answer["cycles"], answer["range"]["high"], answer["simulated"]) == (None, None, None)
    assert answer["timeline"] is None
    assert answer["unknown"]


@pytest.mark.parametrize(
    ("fields", "where", "right"),
    [
        ({"cpu": "another"}, "body cpu", RECORDED),
        ({"isa": "z80"}, "body isa", "x86-64"),
        ({"timeline": 51}, "body timeline", "50"),
        ({"omit": "luck"}, "body omit", ""),
        ({"code": "frob rax"}, "body code", ""),
        ({"code": "nop\nfrob rax"}, "body code", ""),
        ({"piece": -1}, "body piece", "0"),
        ({"frob": 1}, "body frob", "leave it out"),
    ],
)
def test_a_wrong_question_is_refused_with_the_field(
    reader: Program, fields: dict[str, Any], where: str, right: str
) -> None:
    status, answer = explained(reader, **fields)
    (problem,) = answer["problems"]
    assert (status, problem["where"]) == (422, where)
    assert right in problem["right"]


def test_the_shell_prints_the_same_document(reader: Program, file: Path) -> None:
    _, answer = explained(reader, cpu=RECORDED)
    (block,) = json.loads(printed("predict", "--why", "--cpu", RECORDED, file, "--json"))["blocks"]
    assert block | {"mode": answer["mode"]} == answer  # the mode is that of code without a jump


def test_the_shell_prints_bounds_ports_and_chain(db: None, file: Path) -> None:
    lines = printed("predict", "--why", file).splitlines()
    assert lines[0].startswith("block 1: 4.0 cycles: ")
    assert f"(core model {RECORDED}): no CPU is profiled here" in lines[1]
    assert any(line.split()[:2] == ["dependencies", "4.00"] for line in lines)
    assert next(line for line in lines if "imul" in line and "0x1000193" in line).split()[3] == "3.00"


@pytest.mark.parametrize("name", ["hash.svg", "hash.txt", "hash.json"])
def test_a_timeline_is_written_by_the_end_of_its_name(db: None, file: Path, name: str) -> None:
    target = file.with_name(name)
    printed("predict", "--why", file, "--timeline", target)
    text = target.read_text()
    if target.suffix == ".svg":
        assert ElementTree.fromstring(text).tag.endswith("svg")
    elif target.suffix == ".json":
        assert json.loads(text)["traceEvents"]
    else:
        assert "imul eax" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cpu", "another"], "no core model 'another'"),
        (["--timeline", "hash.png"], "ends neither in .svg"),
        (["--timeline", "/nowhere/hash.svg"], "cannot be written"),
        (["--cpu", RECORDED, "--predictor", "core model lab"], "--cpu or --predictor, not both"),
        (["--predictor", f"core-model:model={RECORDED}"], "there is no"),
    ],
)
def test_the_shell_refuses_with_what_would_be_right(
    db: None, file: Path, options: list[str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        printed("predict", "--why", file, *options)


def test_a_timeline_is_of_one_block(db: None, file: Path) -> None:
    file.write_text("add rax, rbx\n\nadd rcx, rdx\n")
    with pytest.raises(CommandError, match="choose it with --piece"):
        printed("predict", "--why", file, "--timeline", file.with_suffix(".svg"))
    printed("predict", "--why", file, "--piece", "2", "--timeline", file.with_suffix(".svg"))


def test_options_of_explanations_go_with_them(db: None, file: Path) -> None:
    with pytest.raises(CommandError, match="go with --why"):
        printed("predict", "--cpu", RECORDED, "2*add GPR[64]:RW, GPR[64]:R")
