"""The bounds of blocks on a core that is known, and the reasons that they give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, CoreModel, FrontEndLimits, MemoryTimes, predict_core
from inference.core.core_model.prediction import CodeShape
from inference.core.mapping import PortMapping
from inference.isa.blocks import accesses_of, name_of_location
from tests.core.core_model.small_core import CORE, STORE, block, of, predicted


def chained(code: str) -> float:
    """Through registers or memory."""
    return max(bound.cycles for bound in predicted(code).bounds if bound.chain or not bound.cycles)


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("imul rax, rbx", 3),  # with itself
        ("add rax, rbx\nimul rax, rbx", 4),  # rax → add → rax → imul
        ("imul rax, rbx\nimul rcx, rbx", 3),  # two chains beside each other
        ("imul rax, rbx\nimul rbx, rax", 6),
        ("xor rax, rax\nadd rax, rbx\nimul rax, rcx", 0),  # broken in each iteration
        ("mov rax, rbx\nimul rbx, rax", 3),  # the move is eliminated
        ("mov rax, qword ptr [rax]", 5),
        ("mov qword ptr [rsi], rax\nmov rax, qword ptr [rsi]", 4),  # forwarded
        ("mov qword ptr [rsi], rax\nmov rax, qword ptr [rsi+8]", 0),  # another place
        ("mov qword ptr [rsi], rax\nmov rax, qword ptr [rsi+4]", 12),  # wants more than was stored
        ("mov qword ptr [rsi], rax\nmov rax, qword ptr [rdi]", 0),  # taken to be apart
        ("add rsi, 8\nmov qword ptr [rsi], rax\nmov rax, qword ptr [rsi]", 4),  # the same within an iteration
        ("mov qword ptr [rsi], rax\nadd rsi, 8\nmov rax, qword ptr [rsi]", 1),  # not after rsi has moved
        ("adc rax, rbx\nadc rcx, rbx", 2),  # through the carry flag
        ("adc rax, rax\nadc rcx, rcx", 2),  # the same: one register makes the registers ready, not the flag
        ("mov al, bl", 1),  # keeps the rest of rax
        ("push rax\npop rax", 4),  # forwarded
        ("push rax\npush rbx\npop rax\npop rbx", 4),  # exchanged: both ways in two iterations
        ("mov qword ptr [rsi], rax\npopcnt rax, qword ptr [rsi]", 5),  # counts what it loads: no `pop`
        ("add rax, qword ptr [rax]", 6),  # not measured: what loads take, and a cycle
    ],
)
def test_dependencies(code: str, cycles: float) -> None:
    assert chained(code) == pytest.approx(cycles)


def test_registers_that_start_alike_lead_to_one_place() -> None:
    one = block("mov qword ptr [rsi], rax\nmov rax, qword ptr [rdi]")
    shape = CodeShape(len(one.code), loop=False)
    assert predict_core(accesses_of(one, equal_start=True), shape, CORE).cycles == pytest.approx(4)
    other = block("mov qword ptr [rsi], rax\nmov rax, qword ptr [rdi]\nadd rdi, 8")
    assert predict_core(accesses_of(other, equal_start=True), shape, CORE).cycles < 4  # rdi goes its own way


def test_the_chain_names_its_steps() -> None:
    largest = predicted("add rax, rbx\nimul rax, rbx").bounds[0]
    assert largest.kind is BoundKind.DEPENDENCES
    steps = sorted((step.instruction, name_of_location(step.location), step.cycles) for step in largest.chain)
    assert steps == [(0, "rax", 1.0), (1, "rax", 3.0)]


def test_ports_and_slots_count_what_needs_them() -> None:
    code = "xor rax, rax\nxor rcx, rcx\nmov rdx, rsi\nadd rbx, rsi"
    assert of(code, BoundKind.PORTS) == 0.5  # the addition alone
    assert of(code, BoundKind.SLOTS) == 1.0  # all four
    assert of("xor rax, rbx\nxor rcx, rbx", BoundKind.PORTS) == 1.0  # different registers: no idiom


def test_the_front_end_of_straight_code_and_of_loops() -> None:
    straight = "\n".join(["add rax, 0x12345678"] * 4)  # six or seven bytes each
    size = len(block(straight).code)
    assert of(straight, BoundKind.FRONT_END) == pytest.approx(size / 16)
    assert of("nop\nnop\nnop\nnop\nnop\nnop\nnop\nnop", BoundKind.FRONT_END) == 2.0
    assert of("top:\nadd rax, rbx\ndec rcx\njnz top", BoundKind.FRONT_END) == 1.0  # a taken branch


def test_bounds_are_left_out_by_name_and_the_largest_is_the_prediction() -> None:
    code = "imul rax, rbx"
    assert predicted(code).cycles == 3
    without = predicted(code, [BoundKind.DEPENDENCES])
    assert without.cycles == 1.0
    assert {bound.kind for bound in without.bounds} == {
        BoundKind.PORTS,
        BoundKind.SLOTS,
        BoundKind.FRONT_END,
    }
    assert predicted(code, list(BoundKind)).cycles == 0.0


def test_what_the_model_lacks_is_said() -> None:
    one = block("imul rax, rbx\nbsf rax, rbx")
    bare = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), CoreModel())
    assert len(bare.lacking) == 3
    assert bare.cycles == 2.0  # a cycle for each
    told = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), CORE)
    assert told.unknown == ("bsf GPR[64]:RW, GPR[64]:R",)


def test_what_has_no_ports_counts_by_its_time_alone() -> None:
    scan = "bsf GPR[64]:RW, GPR[64]:R"
    core = replace(CORE, alone={scan: 0.75})
    one = block("bsf rax, rbx\nbsf rcx, rbx\nadd rdx, rbx")
    found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), core)
    by_kind = {each.kind: each for each in found.bounds}
    assert found.unknown == ()
    assert by_kind[BoundKind.PORTS].cycles == 1.5
    assert scan in by_kind[BoundKind.PORTS].why
    assert by_kind[BoundKind.SLOTS].cycles == 0.75  # all three
    assert any(scan in words for words in found.lacking)


@pytest.mark.parametrize(
    ("code", "cycles"),
    # Golden Cove decodes 32 bytes with up to eight instructions per cycle, else 16.
    [
        ("add rax, rbx\n" * 2, 2 / 5.33),
        ("add eax, ebx\nadd r8, 0x12345678", 2 / 5.0),
        ("add eax, ebx", 1 / 6.0),
    ],
)
def test_straight_code_is_decoded_as_fast_as_instructions_of_that_length(code: str, cycles: float) -> None:
    limits = FrontEndLimits(
        straight_instructions=6.0, by_length=((2.0, 6.0), (3.0, 5.33), (3.5, 4.5), (4.5, 5.0))
    )
    one = block(code)
    bounds = predict_core(
        accesses_of(one), CodeShape(len(one.code), loop=False), replace(CORE, front_end=limits)
    ).bounds
    assert {each.kind: each.cycles for each in bounds}[BoundKind.FRONT_END] == pytest.approx(cycles)


@pytest.mark.parametrize(("rate", "cycles"), [(5.8, 2 / 6), (5.0, 2 / 5)])
def test_decoding_that_nearly_keeps_up_does_not_hold_the_core_up(rate: float, cycles: float) -> None:
    one = block("add eax, ebx\nadd ecx, edx")
    core = replace(
        CORE, mapping=PortMapping(("0",), {}, r_max=6), front_end=FrontEndLimits(by_length=((2.0, rate),))
    )
    bounds = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), core).bounds
    assert {each.kind: each.cycles for each in bounds}[BoundKind.FRONT_END] == pytest.approx(cycles)


def test_copies_in_a_loop_are_limited_by_its_slots() -> None:
    one = block("add eax, ebx\nadd ecx, edx")
    limits = FrontEndLimits(slots=4.0, straight_instructions=1.0, loop_capacity=100)
    core = replace(CORE, front_end=limits)
    cycles = {
        copied: next(
            each.cycles
            for each in predict_core(
                accesses_of(one), CodeShape(len(one.code), loop=False, copied=copied), core
            ).bounds
            if each.kind is BoundKind.FRONT_END
        )
        for copied in (False, True)
    }
    assert cycles == {False: 2.0, True: 0.5}


def test_slots_are_no_fewer_than_what_was_seen_to_pass() -> None:
    one = block("add eax, ebx\nadd ecx, edx")
    assert CORE.mapping is not None
    for r_max, nops, cycles in (
        (None, None, 0.4),
        (4.0, None, 0.4),
        (8.0, None, 0.25),
        (None, 6.25, 0.32),
        (None, 10.0, 0.4),  # NOPs in pairs
    ):
        core = replace(
            CORE,
            mapping=replace(CORE.mapping, r_max=r_max, issue_width=None),
            front_end=FrontEndLimits(slots=5.0, nops=nops, loop_capacity=100),
        )
        found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False, copied=True), core)
        assert {each.kind: each.cycles for each in found.bounds}[BoundKind.FRONT_END] == cycles


def test_pops_wait_for_what_else_moves_the_stack_pointer() -> None:
    code = "lea rsp, [rbp-8]\npop rbx\npop rbp"
    assert chained(code) == pytest.approx(6)  # rbp → lea → rsp → pop
    assert chained("pop rbx\npop rbp") == 0


def test_stores_that_a_model_calls_eliminated_moves_break_nothing() -> None:
    """Such models can be imported."""
    core = replace(CORE, moves=frozenset({STORE}), memory=MemoryTimes(to_one_line=0.5, to_another_line=1.0))
    stores = block("mov qword ptr [rsi], rax\nmov qword ptr [rsi+8], rax")
    found = predict_core(accesses_of(stores), CodeShape(len(stores.code), loop=False), core)
    assert {one.kind: one.cycles for one in found.bounds}[BoundKind.PORTS] == 0
