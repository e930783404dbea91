"""What computing with the stack pointer takes behind what moves it."""

from __future__ import annotations

import pytest

from inference.core.core_model import BoundKind, CodeShape, CoreModel, MemoryTimes, predict_core
from inference.isa.x86.dependences import accesses_of
from tests.core.core_model.test_bounds import block

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
