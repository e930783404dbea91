"""What llvm-mca tells of its model: by batches, with what it does not know named."""

from __future__ import annotations

import pytest

from inference.isa.x86.att import example_code
from inference.predictors.llvm.model import LlvmModel
from inference.predictors.protocol import PredictorError
from tests.predictors.llvm import newest


def code(text: str) -> bytes:
    found = example_code(text)
    assert found is not None
    return found


def test_the_model_tells_cycles_uops_and_the_units_of_resources() -> None:
    model = LlvmModel(newest(), "znver3")
    add, store = model.ask([code("add GPR[64]:RW, GPR[64]:R"), code("mov MEM[64]:W, GPR[64]:R")])
    assert (add.cycles, add.uops, add.failure) == (0.25, 1.0, "")
    assert sum(cycles for _, cycles in add.pressure) == pytest.approx(1.0, abs=0.02)
    assert all(name.isprintable() for name, _ in store.pressure)
    assert add.text == ("addq %rbp, %rbx",)
    assert "llvm-mca" in model.command(add.text)


def test_what_it_does_not_know_costs_the_others_nothing() -> None:
    model = LlvmModel(newest(), "haswell")
    add = code("add GPR[64]:RW, GPR[64]:R")
    beats: list[None] = []
    found = model.ask([add, b"\x06", add, b"\x0f\xff\xff", add], lambda: beats.append(None))
    assert [bool(each.failure) for each in found] == [False, True, False, True, False]
    assert {each.cycles for each in found if not each.failure} == {0.25}
    assert beats


def test_more_blocks_than_a_batch_come_back_in_order() -> None:
    one, two = code("add GPR[64]:RW, GPR[64]:R"), code("imul GPR[64]:RW, GPR[64]:R")
    found = LlvmModel(newest(), "haswell").ask([one, two] * 130)
    assert [each.cycles for each in found] == [0.25, 1.0] * 130


def test_an_unknown_processor_is_told_with_those_there_are() -> None:
    with pytest.raises(PredictorError, match=r"knows no processor 'z80'; it knows .*haswell"):
        LlvmModel(newest(), "z80")
