"""Loops are handed to predictors as these can take them."""

from __future__ import annotations

import shutil
import sys

import pytest

from anica_app.features.predictors.query import row_for
from anica_app.features.questions.asking import ask
from anica_app.predictors.kinds import KINDS
from anica_app.predictors.loops import WITH_JUMP, WITHOUT_JUMP, asked_as
from inference.isa.x86.blocks import block_of_text

LOOP = block_of_text("again: imul rax, rbx\ndec ecx\njne again")
STRAIGHT = block_of_text("imul rax, rbx\ndec ecx")
_COUNT = "import sys; print(len(sys.stdin.read().split()[0]) // 2)"


@pytest.mark.django_db(transaction=True)
def test_a_predictor_of_straight_code_gets_the_body_once_for_both(trusting_operator):
    options = {"command": [sys.executable, "-c", _COUNT], "form": "hex", "title": "bytes"}
    row = row_for("command", options, may_choose=True)
    (column,) = ask([row], [LOOP.code, STRAIGHT.code])
    assert column.error == ""
    assert [one.cycles for one in column.answers] == [len(STRAIGHT.code)] * 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="llvm-mca is not installed")
def test_llvm_mca_gets_the_jump():
    row = row_for("llvm-mca", {"cpu": "haswell"})
    jumps = block_of_text("again: nop\njmp again")
    (column,) = ask([row], [jumps.code, block_of_text("nop").code])
    looped, straight = (one.cycles for one in column.answers)
    assert looped is not None, column.answers
    assert looped > (straight or 0)


def test_each_kind_says_how_it_is_asked():
    said = {name: asked_as(name, LOOP.code) for name in (*KINDS, "mapping")}
    assert {name for name, words in said.items() if words == WITH_JUMP} == {
        "llvm-mca",
        "uica",
        "facile",
        "cqa",
    }
    assert {words for name, words in said.items() if not KINDS.get(name, KINDS["osaca"]).takes_jumps} == {
        WITHOUT_JUMP
    }
    assert asked_as("machine", LOOP.code).startswith("closed by jne")
    assert asked_as("osaca", STRAIGHT.code) == ""
