"""Loops are handed to predictors as these can take them."""

from __future__ import annotations

import shutil
import sys

import pytest

from inference.core.mapping import PortMapping
from inference.features.asking.blocks import port_load
from inference.features.asking.blocks.port_load import load_of
from inference.features.asking.blocks.query import predictions_of, scheme_rows
from inference.features.asking.predictors import kinds
from inference.features.asking.predictors.kinds import all_kinds
from inference.features.asking.predictors.query import row_for
from inference.features.asking.questions.job import ask
from inference.isa import x86
from inference.isa.blocks import block_of_text
from inference.isa.targets import X86
from inference.models import PortMapping as PortMappingRow
from inference.predictors.kinds import KINDS, WITH_JUMP, WITHOUT_JUMP, loop_wording
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping

LOOP = block_of_text("again: imul rax, rbx\ndec ecx\njne again")
STRAIGHT = block_of_text("imul rax, rbx\ndec ecx")
_COUNT = "import sys; print(len(sys.stdin.read().split()[0]) // 2)"


@pytest.mark.django_db(transaction=True)
def test_a_predictor_of_straight_code_gets_the_body_once_for_both(trusting_operator):
    options = {"command": [sys.executable, "-c", _COUNT], "form": "hex", "title": "bytes"}
    row = row_for("command", options, may_choose=True)
    (column,) = ask([row], [LOOP.code, STRAIGHT.code], isa="x86-64")
    assert column.error == ""
    assert [one.cycles for one in column.answers] == [len(STRAIGHT.code)] * 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="llvm-mca is not installed")
def test_llvm_mca_gets_the_jump():
    row = row_for("llvm-mca", {"cpu": "haswell"})
    jumps = block_of_text("again: nop\njmp again")
    (column,) = ask([row], [jumps.code, block_of_text("nop").code], isa="x86-64")
    looped, straight = (one.cycles for one in column.answers)
    assert looped is not None, column.answers
    assert looped > (straight or 0)


def test_each_kind_says_how_it_is_asked():
    said = {name: loop_wording(name, LOOP.name) for name in (*KINDS, "mapping", "core-model")}
    assert {name for name, words in said.items() if words == WITH_JUMP} == {
        "llvm-mca",
        "uica",
        "facile",
        "cqa",
        "mapping",
        "core-model",
    }
    assert {words for words in said.values() if words != WITH_JUMP} == {WITHOUT_JUMP}
    kinds = all_kinds()
    assert {name for name in said if kinds[name].takes_jumps} == {
        name for name, words in said.items() if words == WITH_JUMP
    }
    assert loop_wording("machine", LOOP.name).startswith("measured in a loop closed by jne")
    assert loop_wording("osaca", STRAIGHT.name) == ""


ADD, DEC = "add GPR[64]:RW, GPR[64]:R", "dec GPR[64]:RW"


@pytest.mark.django_db(transaction=True)
def test_a_mapping_counts_the_branch_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    isa = store_isa(X86, [one for one in x86.schemes() if one.text in (ADD, DEC)], "two")
    value = PortMapping(("0", "1", "2"), {ADD: ((7, 1),), DEC: ((7, 1),)}, r_max=2.0)
    row = store_mapping("small", isa, value, origin=PortMappingRow.Origin.IMPORT)
    looped = block_of_text("again: add rax, rbx\ndec rcx\njne again")
    straight = block_of_text("add rax, rbx\ndec rcx")
    predictor = row_for("mapping", {"mapping": "small"})

    def cycles() -> list[float | None]:
        (column,) = ask([predictor], [looped.code, straight.code], isa="x86-64")
        assert column.error == ""
        return [one.cycles for one in column.answers]

    assert cycles() == [1.5, 1.0]
    load = load_of(looped, row)
    assert load is not None
    assert (load.schedule.cycles, [one.uops for one in load.instructions]) == (
        1.5,
        [((7, 1),), ((7, 1),), ()],
    )
    assert [one.cycles for (one,) in predictions_of([looped, straight], isa, scheme_rows([looped], isa))] == [
        *(1.5, 1.0)
    ]
    for module in (kinds, port_load):
        monkeypatch.setattr(module, "fused_pairs", lambda machine: frozenset({"dec reg + je"}))
    assert cycles() == [1.0, 1.0], "nothing that was said of a loop before the front end was measured counts"
    load = load_of(looped, row)
    assert load is not None
    assert load.schedule.cycles == 1.0
