"""`manage.py predict` for blocks beside what it did before, and `manage.py predictors`."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from inference.core.mapping import PortMapping as Mapping
from inference.isa.targets import X86
from inference.models import PortMapping, Predictor
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.doors import printed
from tests.predictors.fakes import script

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "add GPR[64]:RW, GPR[64]:R"


@pytest.fixture
def mapping(db: None) -> PortMapping:
    value = Mapping(ports=("0", "1"), usage={ADD: ((3, 1),)})
    isa = new_isa(X86, [ADD], "by hand")
    return store_mapping("two ports", isa, value, origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def blocks(tmp_path) -> str:
    path = tmp_path / "blocks"
    path.write_text("add rax, rbx\n\n4831db\n")
    return str(path)


def test_experiments_are_still_predicted(mapping):
    told = json.loads(printed("predict", f"2*{ADD}", "--json"))
    assert told["predictions"][0]["cycles"] == 1.0
    assert "two ports" in printed("predict", ADD, "--mapping", "two ports")


def test_several_predictors_answer_for_the_blocks_of_a_file(mapping, blocks, tmp_path, trusting_operator):
    program = script(tmp_path / "mine", "cat >/dev/null; echo 7")
    predictors = ["--predictor", "mapping two ports", "--predictor", f"command:command={program},form=hex"]
    told = json.loads(printed("predict", blocks, *predictors, "--json"))
    assert told["predictors"] == ["mapping two ports", "mine"]
    first, second = told["blocks"]
    assert first["assembly"] == ["add rax, rbx"]
    assert [one["cycles"] for one in first["answers"]] == [0.5, 7.0]
    assert second["answers"][0]["failure"] == "unsupported"
    assert printed("predict", blocks, *predictors, "--csv") == (
        "bb,mapping two ports,mine\n4801d8,0.5,7.0\n4831db,-1,7.0\n"
    )
    table = printed("predict", blocks, *predictors)
    assert "the mapping does not describe xor" in table
    assert Predictor.objects.count() == 2


def test_the_variants_of_a_block_are_asked_about(mapping, tmp_path, trusting_operator):
    path = tmp_path / "one"
    path.write_text("add qword ptr [rcx+16], rbx")
    program = script(tmp_path / "mine", "cat >/dev/null; echo 7")
    own = ["--predictor", f"command:command={program},form=hex", "--memory"]
    lines = printed("predict", str(path), *own).splitlines()
    assert [line.partition(":")[0] for line in lines[1:]] == ["same address", "other offset", "other base"]
    path.write_text("4801d8\n\n90")
    with pytest.raises(CommandError, match="one block, not 2"):
        printed("predict", str(path), *own)


def test_the_load_of_ports_is_told_by_instruction(mapping, blocks):
    text = printed("predict", blocks, "--ports", "two ports")
    assert "block 1: 0.500 cycles" in text
    assert any(line.split() == ["add", "rax,", "rbx", "0.500", "0.500"] for line in text.splitlines())
    assert "block 2: the mapping describes none of its instructions" in text
    told = json.loads(printed("predict", blocks, "--ports", "two ports", "--json"))
    assert told["blocks"][0]["loads"] == [0.5, 0.5]
    with pytest.raises(CommandError, match="nobody"):
        printed("predict", blocks, "--ports", "nobody")


def test_what_cannot_be_asked_is_told(mapping, blocks, tmp_path):
    with pytest.raises(CommandError, match="there is no predictor 'nobody'"):
        call_command("predict", blocks, predictor=["nobody"])
    (tmp_path / "blocks").write_text("ad rax, rbx")
    with pytest.raises(CommandError, match="line 1"):
        call_command("predict", blocks, predictor=["mapping two ports"])
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("predict", str(tmp_path / "missing"), predictor=["mapping two ports"])


def test_predictors_are_listed_with_what_the_others_need(mapping, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    text = printed("predictors")
    assert any(line.split()[:4] == ["mapping", "two", "ports", "mapping"] for line in text.splitlines())
    assert "IACA: IACA is not here: download" in text
    told = json.loads(printed("predictors", "--json"))["predictors"]
    (own,) = [one for one in told if one["kind"] == "mapping"]
    assert own["usable"]
    assert own["options"] == {"mapping": "two ports"}
