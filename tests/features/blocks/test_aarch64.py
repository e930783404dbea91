"""Blocks of AArch64 at every door: pages, API and shell read them and find what answers for them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.features.library.search.query import pasted_code
from inference.formats.block_sets import BlockSetOptions, summarise
from inference.formats.blocks_csv import BrokenRows
from inference.isa.targets import AARCH64, X86
from inference.models import Machine, PortMapping, Run
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping

pytestmark = pytest.mark.django_db

CODE = "ldr x0, [x1]\nadd x0, x0, #1"
HEX = "200040f900040091"
LISTING = """\
0000000000400588 <main+0x8>:
  400588:\t91000400 \tadd\tx0, x0, #0x1
  40058c:\tf1000421 \tsubs\tx1, x1, #0x1
  400590:\t54ffffc1 \tb.ne\t400588 <main+0x8>  // b.any
"""
LOAD, ADD = "ldr GPR[64]:W, MEM[64]:R", "add GPR[64]:W, GPR[64]:R, IMM[12]:R"
FOREIGN = "this is assembly of x86-64, and code of AArch64 is expected"


@pytest.fixture
def arm(db: None) -> PortMapping:
    """A mapping for AArch64: one port loads, two add."""
    isa = new_isa(AARCH64, [LOAD, ADD], "by hand")
    value = Value(("a", "b", "l"), {LOAD: ((4, 1),), ADD: ((3, 1),)})
    return store_mapping("arm", isa, value, origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    """Somebody who may do everything."""
    client.force_login(administrator)
    return client


def api(client: Client, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    answer = client.post(f"/api/v1{path}", body, content_type="application/json")
    return answer.status_code, answer.json()


def written(tmp_path: Path, code: str) -> str:
    path = tmp_path / "code"
    path.write_text(code)
    return str(path)


def test_the_loop_tab_of_a_mapping(visitor: Client, arm: PortMapping) -> None:
    page = reverse("mapping", args=[arm.pk])
    shown = visitor.get(page, {"tab": "loop", "code": CODE})
    assert shown.status_code == 200
    assert "ldr x0, [x1]" in shown.text
    foreign = visitor.get(page, {"tab": "loop", "code": "add rax, rbx"})
    assert (foreign.status_code, FOREIGN in foreign.text) == (400, True)


def test_the_load_of_ports_by_api_and_shell(
    visitor: Client, arm: PortMapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, loads = api(visitor, f"/mappings/{arm.pk}/block-loads", {"code": CODE})
    (load,) = loads["blocks"]
    assert (status, load["isa"], load["cycles"], load["loads"]) == (200, AARCH64, 1.0, [0.5, 0.5, 1.0])
    status, problem = api(visitor, f"/mappings/{arm.pk}/block-loads", {"code": "add rax, rbx"})
    assert (status, FOREIGN in json.dumps(problem)) == (422, True)
    call_command("predict", written(tmp_path, CODE), "--ports", "arm")
    assert "ldr x0, [x1]" in capsys.readouterr().out


@pytest.mark.parametrize("code", [CODE, LISTING, "LDR X0, [X1]", "fmla.4s v0, v1, v2"])
def test_code_is_decoded_as_what_it_shows(
    visitor: Client, arm: PortMapping, tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    status, blocks = api(visitor, "/blocks", {"code": code})
    assert (status, {block["isa"] for block in blocks}) == (200, {AARCH64})
    status, decoded = api(visitor, "/decode", {"code": code})
    assert {block["isa"] for block in decoded["blocks"]} == {AARCH64}
    call_command("decode", written(tmp_path, code), "--json")
    assert json.loads(capsys.readouterr().out) == decoded


def test_digits_are_of_the_named_instruction_set(visitor: Client, db: None) -> None:
    (block,) = api(visitor, "/decode", {"code": HEX, "isa": AARCH64})[1]["blocks"]
    assert block["text"] == "ldr x0, [x1]\nadd x0, x0, #1"
    assert api(visitor, "/decode", {"code": "4801d8"})[1]["blocks"][0]["isa"] == X86
    status, problem = api(visitor, "/decode", {"code": CODE, "isa": X86})
    assert (status, "this is assembly of AArch64" in json.dumps(problem)) == (422, True)


def test_the_page_of_blocks_reads_them_and_leaves_out_who_does_not_answer(
    visitor: Client, arm: PortMapping
) -> None:
    page = visitor.get(reverse("blocks"), {"code": CODE})
    assert page.status_code == 200
    assert [piece.block.isa for piece in page.context["pieces"]] == [AARCH64]
    assert (
        visitor.get(reverse("blocks"), {"code": HEX, "isa": AARCH64}).context["pieces"][0].block.isa
        == AARCH64
    )
    fields = {
        **page.context["form"].data.dict(),
        "code": CODE,
        "press": "ask",
        "predictors": ["mapping:mapping=arm"],
    }
    asked = visitor.post(reverse("blocks"), fields)
    assert asked.status_code == 302, asked.text
    assert Run.objects.get().config["isa"] == AARCH64
    fields["code"] = "add rax, rbx"
    refused = visitor.post(reverse("blocks"), fields)
    assert refused.status_code == 400
    assert "mapping arm does not answer for x86-64" in refused.text


def test_a_mapping_answers_a_question(visitor: Client, arm: PortMapping, tmp_path: Path) -> None:
    status, question = api(visitor, "/questions", {"code": CODE, "predictors": ["mapping arm"]})
    assert (status, question["blocks"][0]["isa"]) == (201, AARCH64)


def test_code_in_the_search_box(visitor: Client, db: None) -> None:
    pasted = pasted_code("ldr x0, [x1]; ret")
    assert pasted is not None
    assert [block.isa for block in pasted.blocks] == [AARCH64]
    page = visitor.get(reverse("search"), {"q": CODE}, follow=True)
    assert (page.status_code, page.request["PATH_INFO"]) == (400, reverse("loop"))
    assert "No core model of AArch64 is known: profile a computer with AArch64" in page.text
    assert [link in page.text for link in (reverse("machine-add"), reverse("upload"), reverse("blocks"))] == [
        True
    ] * 3


def test_rows_of_block_sets_are_of_the_set_that_the_file_names() -> None:
    rows = b'bb,mca\n4801d8,1.0\n"ldr x0, [x1]; add x0, x0, #1",1.0\n'
    mixed = summarise(io.BytesIO(rows), "blocks.csv", BlockSetOptions(BrokenRows.SKIP))
    assert [problem.row for problem in mixed.problems.listed] == [3]
    assert "write the line `# instruction set: AArch64`" in str(mixed.problems.listed[0])
    named = (
        b"# instruction set: AArch64\nbb,mca\n" + HEX.encode() + b',1.0\n"ldr x0, [x1]; add x0, x0, #1",1.0\n'
    )
    summary = summarise(io.BytesIO(named), "blocks.csv", BlockSetOptions())
    assert (summary.isa, summary.rows, summary.problems.count) == (AARCH64, 2, 0)


def test_a_machine_that_measures_no_blocks_says_so(visitor: Client, arm: PortMapping, tmp_path: Path) -> None:
    Machine.objects.create(name="board", kind="agent", isa=arm.isa, facts={"blocks": False})
    with pytest.raises(CommandError):
        call_command("measure-block", written(tmp_path, CODE), "--machine", "board")
