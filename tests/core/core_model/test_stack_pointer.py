"""What computing with the stack pointer takes behind what moves it."""

from __future__ import annotations

import pytest

from inference.core.core_model import BoundKind, CodeShape, CoreModel, MemoryTimes, predict_core
from inference.core.core_model.memory_bounds import stack_bound
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.formats.quoting import json_text
from inference.isa.blocks import accesses_of
from tests.core.core_model.small_core import block

SUB, ADD = "sub GPR[64]:RW, IMM[8]:R", "add GPR[64]:RW, GPR[64]:R"


@pytest.mark.parametrize(
    ("code", "cycles"),
    # Measured on a Zen 4, but for what is relative to it.
    [
        ("pop rbx\npop rbp\npop r12\nsub rsp, 24", 2.0),
        ("sub rsp, 24\npop rbx\npop rbp\npop r12", 2.0),  # of the iteration before
        ("pop rbx\npop rbp\npop r12\nlea rsp, [rsp-24]", 1.0),
        ("push rax\nsub rsp, 8\nadd rsp, 16", 3.0),  # once per iteration
        ("sub rsp, 8\nadd rsp, 8", 2.0),
        ("push rax\nmov rbx, qword ptr [rsp+8]\nadd rsp, 8", 1.0),  # the load has it added
        ("push rax\nadd rsp, rbx\nadd rbx, rcx", 2.0),
        ("push rax\nadd rbx, rcx", 1.0),
    ],
)
def test_what_push_and_pop_moved_it_by_is_added_first(code: str, cycles: float) -> None:
    latencies = {SUB: {("1", "1"): 1.0}, ADD: {("1", "1"): 1.0, ("2", "1"): 1.0}}
    core = CoreModel(latencies=latencies, memory=MemoryTimes(behind_pop=2.0))
    one = block(code)
    found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), core)
    chains = [each.cycles for each in found.bounds if each.kind is BoundKind.DEPENDENCES]
    assert max(chains) == pytest.approx(cycles)


GOING_ON = CoreModel(memory=MemoryTimes(behind_pop=2.0, pop=0.67, push=0.6, load_beside_pop=0.43))


@pytest.mark.parametrize(
    ("code", "cycles"),
    # Measured on a Zen 4, with 0.67 cycles for a pop and 0.59 for a push by themselves.
    [
        ("pop rbx", 0.67),
        ("pop rbx\npop rbp\npop r12\npop r13", 2.65),
        ("pop rbx\npop rbp\npop r12\npop r13\npop r14\npop r15\nlea rsp, [rsp+40]", 4.15),
        ("add rsp, 24\npop rbx\npop rbp\npop r12\npop r13", 2.75),
        ("push rbx\npush rbp", 1.18),
        ("pop rbx\npop rbp\nmov rcx, [rdi]", 1.74),
        ("pop rbx\nmov rcx, [rdi]\nmov rbp, [rdi+8]", 1.49),
    ],
)
def test_pops_and_pushes_whose_pointer_goes_on_take_what_they_take_alone(code: str, cycles: float) -> None:
    one = block(code)
    found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=True), GOING_ON)
    assert found.bounds[0].kind is BoundKind.MEMORY
    assert found.cycles == pytest.approx(cycles, rel=0.04)


@pytest.mark.parametrize(
    "code",
    ["push rbx\npop rbp", "mov rsp, rdi\npop rbx\npop rbp", "pop rbx\nlea rsp, [rsp-8]", "mov rax, [rsp+8]"],
)
def test_a_pointer_that_comes_back_goes_on_nowhere(code: str) -> None:
    assert stack_bound(accesses_of(block(code)), GOING_ON.memory) is None


def test_a_file_keeps_what_pops_and_pushes_take() -> None:
    document = core_model_json(GOING_ON, name="m", isa="x86-64")
    assert read_core_model(json_text(document)).model().memory == GOING_ON.memory
    assert {"pop", "push", "load_beside_pop"}.isdisjoint(
        core_model_json(CoreModel(), name="m", isa="x86-64")["memory"]
    )
