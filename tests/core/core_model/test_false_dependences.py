"""A destination that is only written, and waited for all the same, makes chains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, CodeShape, CoreModel, predict_core
from inference.core.core_model.dependences import FALSE_DEPENDENCY_BASIS
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.formats.quoting import json_text
from inference.isa.blocks import accesses_of, read_blocks

BLSR, ADD = "blsr GPR[64]:W, GPR[64]:R", "add GPR[64]:RW, GPR[64]:R"
EXPAND = "vpexpandd ZMM{k}{z}:W, ZMM:R"
PLAIN = CoreModel(
    latencies={
        BLSR: {("2", "1"): 1.0, ("2", "flags"): 1.0},
        EXPAND: {("2", "1"): 5.0, ("mask", "1"): 5.0},
        ADD: {("1", "1"): 1.0, ("2", "1"): 1.0},
    }
)
WAITING = replace(PLAIN, false_dependences={BLSR: {"1": 1.0}, EXPAND: {"1": 5.0}})


@pytest.mark.parametrize(
    ("code", "plain", "waiting"),
    [
        ("blsr rax, rbx", 0, 1),
        ("blsr rax, rbx\nadd rax, rcx", 0, 2),
        ("blsr rax, rbx\nblsr rax, rcx\nblsr rdx, rcx", 0, 2),
        ("vpexpandd zmm1{k1}{z}, zmm2", 0, 5),
    ],
)
def test_an_old_value_that_is_waited_for_makes_a_chain(code: str, plain: float, waiting: float) -> None:
    (block,) = read_blocks(code, 1)
    shape = CodeShape(len(block.code), loop=False)
    for core, cycles in ((PLAIN, plain), (WAITING, waiting)):
        found = predict_core(accesses_of(block), shape, core)
        assert next(one for one in found.bounds if one.kind is BoundKind.DEPENDENCES).cycles == cycles


def test_the_chain_says_that_the_dependency_is_a_false_one() -> None:
    (block,) = read_blocks("blsr rax, rbx", 1)
    (step,) = predict_core(accesses_of(block), CodeShape(5, loop=False), WAITING).chain
    assert (step.source, step.destination, step.basis) == ("1", "1", FALSE_DEPENDENCY_BASIS)


def test_a_file_keeps_false_dependences() -> None:
    document = core_model_json(WAITING, name="m", isa="x86-64")
    assert read_core_model(json_text(document)).model().false_dependences == WAITING.false_dependences
    assert "false_dependences" not in core_model_json(PLAIN, name="m", isa="x86-64")
