"""Loops of AArch64 on the page, by API and shell, with a core model that is imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.features.learning.core_model.storing import store_document
from inference.formats.core_model_json import read_core_model
from inference.isa.targets import AARCH64
from inference.models import StoredCoreModel
from inference.storage.instruction_sets import store_isa
from tests.rows.library import visitor

__all__ = ["visitor"]

pytestmark = pytest.mark.django_db

LOAD, ADD = "ldr GPR[64]:W, MEM[64,post]:R", "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
COMPARE = "cmp GPR[64]:R, GPR[64]:R"
SUM = """\
sum:
.L3:
\tldr\tx2, [x0], 8\t// a[i]
\tadd\tx1, x1, x2
\tcmp\tx0, x3
\tbne\t.L3
\tret
"""
X86_LOOP = ".loop: add rax, rbx\ndec ecx\njne .loop"


def document() -> dict[str, Any]:
    alu, load = [{"ports": ["a", "b"], "count": 1}], [{"ports": ["l"], "count": 1}]
    add = [{"source": source, "destination": "1", "cycles": 2.0} for source in ("2", "3")]
    moved = [
        {"source": "2 address", "destination": "1", "cycles": 4.0},
        {"source": "2 address", "destination": "base", "cycles": 1.0},
    ]
    return {
        "format": "pmweb-core-model",
        "version": 1,
        "name": "arm",
        "isa": AARCH64,
        "mapping": {
            "ports": ["a", "b", "l"],
            "limits": {"slots": 3.0},
            "usage": {LOAD: load, ADD: alu, COMPARE: alu},
        },
        "latencies": {LOAD: moved, ADD: add},
    }


@pytest.fixture
def arm(db: None) -> StoredCoreModel:
    store_isa(AARCH64, [], "a test")
    core = read_core_model(json.dumps(document()))
    return store_document(core, "arm")


def test_pasted_code_gets_a_cpu_of_its_instruction_set(visitor: Client, arm: StoredCoreModel) -> None:
    usual = visitor.get(reverse("loop"))
    assert [isa for isa, _ in usual.context["cpu_groups"]] == ["x86-64", AARCH64]
    chosen = usual.context["cpu"].name if usual.context["cpu"] else usual.context["cpus"][0].name
    for page in (
        visitor.get(reverse("loop"), {"code": SUM, "cpu": chosen}),
        visitor.post(reverse("loop-answer"), {"code": SUM, "cpu": chosen}),
    ):
        assert page.status_code == 200, page.context["problem"]
        answer = page.context["answer"]
        assert (answer.cpu.name, answer.block.isa, answer.block.kind) == ("arm", AARCH64, "loop")
        assert answer.analysis.usual == pytest.approx(2.0)
        assert "waits for its own result in x1" in answer.verdict
        assert 'data-cpu="arm"' in page.text
    again = visitor.get(answer.question.address())
    assert again.context["answer"].block == answer.block
    back = visitor.post(reverse("loop-answer"), {"code": X86_LOOP, "cpu": "arm"})
    assert back.context["answer"].block.isa == "x86-64"


def test_digits_and_words_of_both_sets_are_code_of_the_chosen_cpu(
    visitor: Client, arm: StoredCoreModel
) -> None:
    for code in ("90909090", "nop"):
        page = visitor.get(reverse("loop"), {"code": code, "cpu": "arm"})
        assert page.context["answer"].block.isa == AARCH64
        assert visitor.get(reverse("loop"), {"code": code}).context["answer"].block.isa == "x86-64"


def test_a_base_that_moves_waits_for_the_move_and_not_for_the_load(
    visitor: Client, arm: StoredCoreModel
) -> None:
    page = visitor.get(reverse("loop"), {"code": "ldr x2, [x0], #8\nstr x2, [sp]"})
    answer = page.context["answer"]
    (waits,) = [edge for edge in answer.analysis.dependences if edge.producer == edge.consumer]
    assert (waits.location, waits.cycles) == ("x0", 1.0)


def test_the_api_and_the_shell_say_the_same(
    visitor: Client, arm: StoredCoreModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "/api/v1/block-explanations"
    answer = visitor.post(path, {"code": SUM}, content_type="application/json")
    assert answer.status_code == 200, answer.text
    loop = answer.json()
    assert (loop["isa"], loop["model"], loop["cycles"]) == (AARCH64, "arm", 2.0)
    assert [step["through"] for step in loop["steps"]] == ["x1"]
    file = tmp_path / "sum.s"
    file.write_text(SUM)
    call_command("predict", str(file), "--why", "--json")
    (printed,) = json.loads(capsys.readouterr().out)["blocks"]
    assert (printed["text"], printed["isa"]) == (loop["text"], AARCH64)
    recorded = visitor.get(reverse("loop")).context["cpus"][0].name
    wrong = visitor.post(path, {"code": SUM, "cpu": recorded}, content_type="application/json")
    assert (wrong.status_code, "executes x86-64, and the code is AArch64" in wrong.text) == (422, True)
    with pytest.raises(CommandError, match="executes x86-64, and the code is AArch64"):
        call_command("predict", str(file), "--why", "--cpu", recorded)


def test_without_a_core_model_the_page_says_what_to_do(visitor: Client, db: None) -> None:
    page = visitor.get(reverse("loop"), {"code": SUM})
    assert page.status_code == 400
    assert "No core model of AArch64 is known: profile a computer with AArch64" in page.text
    for name in ("machine-add", "upload"):
        assert f'href="{reverse(name)}"' in page.text


def test_the_page_of_blocks_shows_a_loop_with_its_explanation(visitor: Client, arm: StoredCoreModel) -> None:
    page = visitor.get(reverse("blocks"), {"code": SUM})
    assert page.status_code == 200
    assert "waits for its own result in x1" in page.text
