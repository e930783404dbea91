"""Slots beyond one for each instruction, short loops, and branches without a port."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, CoreModel, FrontEndLimits, predict_core
from inference.core.core_model.prediction import shape_of
from inference.isa.blocks import accesses_of
from inference.isa.front_end import AddressUse
from inference.isa.targets import X86, code_target
from inference.storage.core_models import with_slots
from tests.core.core_model.small_core import CORE, MOV
from tests.core.core_model.test_fusion import block

LIMITS = FrontEndLimits(slots=4.0, taken=1.0, fused=frozenset({"cmp reg, reg + je", "cmp reg, mem + je"}))
LOOP = "top:\n{}\nadd rax, rbx\nadd rcx, rbx\nadd rdx, rbx\nadd rsi, rbx\ncmp rdi, r8\njne top"


def bounds(code: str, limits: FrontEndLimits, model: CoreModel = CORE) -> dict[BoundKind, float]:
    one = block(code)
    core = replace(model, front_end=limits)
    found = predict_core(accesses_of(one), shape_of(one), core)
    return {bound.kind: bound.cycles for bound in found.bounds}


@pytest.mark.parametrize(
    ("instruction", "use", "is_counted"),
    [
        ("mov qword ptr [r9+r10], r8", AddressUse.STORE, True),
        ("mov qword ptr [r9+r10*8], 1", AddressUse.STORE, True),
        ("mov qword ptr [r9+8], r8", AddressUse.STORE, False),
        ("movups xmmword ptr [r9+r10], xmm0", AddressUse.STORE, False),
        ("movups xmmword ptr [r9+r10], xmm0", AddressUse.VECTOR_STORE, True),
        ("mov r8, qword ptr [r9+r10]", AddressUse.LOAD, True),
        ("movzx r8d, byte ptr [r9+r10]", AddressUse.LOAD, True),
        ("add r8, qword ptr [r9+r10]", AddressUse.LOAD, False),
        ("add r8, qword ptr [r9+r10]", AddressUse.OPERATION, True),
        ("cmp qword ptr [r9+r10], r8", AddressUse.OPERATION, True),
        ("add qword ptr [r9+r10], r8", AddressUse.UPDATE, True),
        ("add qword ptr [r9+r10], r8", AddressUse.STORE, False),
        ("movups xmm0, xmmword ptr [r9+r10]", AddressUse.VECTOR_LOAD, True),
        ("lea r8, [r9+r10]", AddressUse.LOAD, False),
    ],
)
def test_an_index_register_takes_a_slot_where_the_core_says_so(
    instruction: str, use: AddressUse, is_counted: bool
) -> None:
    code = LOOP.format(instruction)
    plain, indexed = (
        bounds(code, replace(LIMITS, indexed=frozenset(chosen)))[BoundKind.FRONT_END]
        for chosen in ((), (use,))
    )
    assert indexed - plain == pytest.approx(is_counted / 4)


def test_a_short_loop_takes_what_loops_of_its_slots_take() -> None:
    code = LOOP.format("add r9, rbx")  # six slots
    assert bounds(code, LIMITS)[BoundKind.FRONT_END] == pytest.approx(1.5)
    by_slots = (1.0, 1.0, 1.0, 1.0, 2.0, 2.0)
    assert bounds(code, replace(LIMITS, loops=by_slots))[BoundKind.FRONT_END] == 2.0
    assert bounds(code, replace(LIMITS, loops=by_slots[:5]))[BoundKind.FRONT_END] == pytest.approx(1.5)


def test_the_branch_of_a_loop_costs_no_more_than_the_shortest_loop() -> None:
    slow = replace(LIMITS, slots=None, taken=0.25)
    code = LOOP.format("add r9, rbx")
    assert bounds(code, slow)[BoundKind.FRONT_END] == pytest.approx(4)
    assert bounds(code, replace(slow, loops=(2.0,)))[BoundKind.FRONT_END] == pytest.approx(2)


@pytest.mark.parametrize(("compared", "saved"), [("cmp rdi, r8", 1), ("cmp rdi, qword ptr [r8]", 1)])
def test_a_free_branch_takes_the_comparison_from_the_ports(compared: str, saved: int) -> None:
    code = LOOP.format("add r9, rbx").replace("cmp rdi, r8", compared)
    assert CORE.mapping is not None
    usage = {
        **CORE.mapping.usage,
        "cmp GPR[64]:R, GPR[64]:R": ((0b1, 1),),
        "cmp GPR[64]:R, MEM[64]:R": ((0b1, 1),),
        "add GPR[64]:RW, GPR[64]:R": ((0b1, 1),),
    }
    core = replace(CORE, mapping=replace(CORE.mapping, usage=usage))
    free = replace(LIMITS, free_branches=frozenset({"cmp reg, reg", "cmp reg, mem"}))
    difference = bounds(code, LIMITS, core)[BoundKind.PORTS] - bounds(code, free, core)[BoundKind.PORTS]
    assert difference == pytest.approx(saved)


def test_what_cannot_be_measured_takes_the_slots_of_what_does_the_same_work() -> None:
    legacy = "cvtsi2sd XMM:RW, GPR[32]:R"
    (vex,) = code_target(X86).schemes.same_work(legacy)
    assert CORE.mapping is not None
    usage = {**CORE.mapping.usage, legacy: ((0b1, 1),), vex: ((0b1, 1),)}
    core = replace(CORE, mapping=replace(CORE.mapping, usage=usage, slots={MOV: 3}))
    found = with_slots(core, X86, {vex: 2}).mapping
    assert found is not None
    assert (found.slots_of(vex), found.slots_of(legacy), found.slots_of(MOV)) == (2, 2, 1)
    assert with_slots(core, X86, None) is core
