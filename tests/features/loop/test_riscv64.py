"""Code of RISC-V at every door: the loop's page, blocks, compiled programs, API and shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from inference.features.learning.core_model.storing import store_document
from inference.formats.core_model_json import read_core_model
from inference.isa.blocks import object_file
from inference.isa.targets import RISCV
from inference.models import BasicBlockSet, StoredCoreModel, Upload
from inference.runs import lifecycle
from inference.storage.instruction_sets import store_isa
from tests.rows.library import visitor
from tests.work import work_off

__all__ = ["visitor"]

pytestmark = pytest.mark.django_db

LOAD = "fld FPR[64]:W, MEM[64]:R"
FMADD = "fmadd.d FPR[64]:W, FPR[64]:R, FPR[64]:R, FPR[64]:R"
ADDI = "addi GPR[64]:W, GPR[64]:R, IMM[12]:R"
DOT = """\
dot:
.L3:
\tfld\tfa4,0(a0)\t# a[i]
\tfld\tfa5,0(a1)
\taddi\ta0,a0,8
\taddi\ta1,a1,8
\tfmadd.d\tfa0,fa4,fa5,fa0
\tbne\ta0,a5,.L3
\tret
"""
LISTING = """\
   1057c:\t2118                \tfld\tfa4,0(a0)
   1057e:\t219c                \tfld\tfa5,0(a1)
   10580:\t0521                \taddi\ta0,a0,8
   10582:\t05a1                \taddi\ta1,a1,8
   10584:\t52f77543          \tfmadd.d\tfa0,fa4,fa5,fa0
   10588:\tfef51ae3          \tbne\ta0,a5,1057c <dot+0xe>
"""
CODE = "18219c212105a1054375f752e31af5fe"


def document() -> dict[str, Any]:
    alu, load = [{"ports": ["a", "b"], "count": 1}], [{"ports": ["l"], "count": 1}]
    fused = [{"source": str(source), "destination": "1", "cycles": 5.0} for source in (2, 3, 4)]
    return {
        "format": "pmweb-core-model",
        "version": 1,
        "name": "board",
        "isa": RISCV,
        "mapping": {
            "ports": ["a", "b", "l", "f"],
            "limits": {"slots": 3.0},
            "usage": {LOAD: load, ADDI: alu, FMADD: [{"ports": ["f"], "count": 1}]},
        },
        "latencies": {
            LOAD: [{"source": "2 address", "destination": "1", "cycles": 4.0}],
            ADDI: [{"source": "2", "destination": "1", "cycles": 1.0}],
            FMADD: fused,
        },
    }


@pytest.fixture
def board(db: None) -> StoredCoreModel:
    store_isa(RISCV, [], "a test")
    return store_document(read_core_model(json.dumps(document())), "board")


@pytest.mark.parametrize("text", [DOT, LISTING])
def test_a_loop_waits_for_its_sum(visitor: Client, board: StoredCoreModel, text: str) -> None:
    page = visitor.get(reverse("loop"), {"code": text})
    assert page.status_code == 200, page.context["problem"]
    answer = page.context["answer"]
    assert (answer.cpu.name, answer.block.isa, answer.block.kind) == ("board", RISCV, "loop")
    assert answer.block.code.hex() == CODE
    assert answer.analysis.usual == pytest.approx(5.0)
    assert "waits for its own result in fa0" in answer.verdict


def test_the_api_and_the_shell_say_the_same(
    visitor: Client, board: StoredCoreModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = visitor.post(
        "/api/v1/block-explanations", {"code": DOT, "cpu": "board"}, content_type="application/json"
    )
    assert answer.status_code == 200, answer.text
    loop = answer.json()
    assert (loop["isa"], loop["cycles"], [step["through"] for step in loop["steps"]]) == (RISCV, 5.0, ["fa0"])
    file = tmp_path / "dot.s"
    file.write_text(DOT)
    call_command("predict", str(file), "--why", "--json")
    (printed,) = json.loads(capsys.readouterr().out)["blocks"]
    assert (printed["text"], printed["isa"]) == (loop["text"], RISCV)
    status = visitor.post("/api/v1/decode", {"code": CODE, "isa": RISCV}, content_type="application/json")
    assert status.json()["blocks"][0]["text"].splitlines()[1] == "fld fa4, 0(a0)"


def test_compressed_and_full_instructions_are_one_scheme(visitor: Client, board: StoredCoreModel) -> None:
    text = "addi a0, a0, 8\n.option norvc\naddi a0, a0, 8"
    decoded = visitor.post("/api/v1/decode", {"code": text}, content_type="application/json").json()
    (block,) = decoded["blocks"]
    assert (block["hex"], set(block["schemes"])) == ("210513058500", {ADDI})


def test_a_compiled_program_becomes_a_set_of_its_loops(board: StoredCoreModel) -> None:
    content = object_file(bytes.fromhex(CODE) + bytes.fromhex("8280"), "dot", RISCV)
    upload = Upload.objects.create(file_name="dot.o", beginning=content, sha256="0" * 64)
    run = work_off(lifecycle.submit("import-anica", {"upload": upload.pk, "name": "mine"}, "import"))
    assert run.state == "done", run.error
    made = BasicBlockSet.objects.get()
    assert [(bytes(row.code).hex(), row.origin) for row in made.blocks.all()] == [(CODE, "dot.o, dot, 0x0")]
    assert made.isa.name == RISCV


def test_code_of_an_unknown_extension_is_refused_by_name(visitor: Client, board: StoredCoreModel) -> None:
    page = visitor.get(reverse("blocks"), {"code": "clmul a0, a1, a2\nadd a0, a0, a1\nld a1, 0(a0)"})
    assert page.status_code == 400
    assert "this is code of RISC-V with its extension Zbc, which is not supported" in page.text
