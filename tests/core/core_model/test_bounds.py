"""The bounds of blocks on a core that is known, and the reasons that they give."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from inference.core.core_model import (
    BoundKind,
    CoreModel,
    CorePrediction,
    FrontEndLimits,
    MemoryTimes,
    predict_core,
)
from inference.core.core_model.prediction import CodeShape
from inference.core.mapping import PortMapping
from inference.isa.blocks import LOOP, Block, accesses_of, name_of_location, read_blocks

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
XOR, MOV = "xor GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, GPR[64]:R"
LOAD, STORE = "mov GPR[64]:W, MEM[64]:R", "mov MEM[64]:W, GPR[64]:R"
ADC, BYTE = "adc GPR[64]:RW, GPR[64]:R", "mov GPR[8]:W, GPR[8]:R"

CORE = CoreModel(
    PortMapping(
        ("0", "1", "2", "3"),
        {
            **dict.fromkeys((ADD, XOR, MOV, ADC, BYTE), ((0b0011, 1),)),
            IMUL: ((0b0001, 1),),
            LOAD: ((0b0100, 1),),
            STORE: ((0b1000, 1),),
        },
        issue_width=4,
    ),
    latencies={
        ADD: {("1", "1"): 1.0, ("2", "1"): 1.0, ("1", "flags"): 1.0, ("2", "flags"): 1.0},
        XOR: {("1", "1"): 1.0, ("2", "1"): 1.0},
        ADC: {("1", "1"): 1.0, ("2", "1"): 1.0, ("flags", "1"): 1.0, ("flags", "flags"): 1.0},
        IMUL: {("1", "1"): 3.0, ("2", "1"): 3.0},
        LOAD: {("2 address", "1"): 5.0},
        BYTE: {("1", "1"): 1.0, ("2", "1"): 1.0},
    },
    free=frozenset({XOR, ADC}),
    portless=frozenset({XOR, MOV}),
    moves=frozenset({MOV}),
    memory=MemoryTimes({(64, 64, 0, False): 4.0}, usual=12.0),
    front_end=FrontEndLimits(6.0, 4.0, 16.0, 1000, 1.0),
)


def block(code: str) -> Block:
    (found,) = read_blocks(code, 1)
    return found


def predicted(code: str, without: Collection[BoundKind] = ()) -> CorePrediction:
    one = block(code)
    return predict_core(accesses_of(one), CodeShape(len(one.code), one.kind == LOOP), CORE, without)


def chained(code: str) -> float:
    """Through registers or memory."""
    return max(bound.cycles for bound in predicted(code).bounds if bound.chain or not bound.cycles)


def of(code: str, kind: BoundKind) -> float:
    (found,) = [bound.cycles for bound in predicted(code).bounds if bound.kind is kind]
    return found


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


def test_chains_through_memory_are_a_bound_of_their_own() -> None:
    code = "add rsi, 8\nmov qword ptr [rsi], rax\nmov rax, qword ptr [rsi]"
    assert of(code, BoundKind.DEPENDENCES) == 1.0
    assert of(code, BoundKind.MEMORY) == 4.0
    assert predicted(code, [BoundKind.MEMORY]).cycles < 4.0


def test_what_the_model_lacks_is_said() -> None:
    one = block("imul rax, rbx\nbsf rax, rbx")
    bare = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), CoreModel())
    assert len(bare.lacking) == 3
    assert bare.cycles == 2.0  # a cycle for each
    told = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), CORE)
    assert told.unknown == ("bsf GPR[64]:RW, GPR[64]:R",)


@pytest.mark.parametrize(
    ("offsets", "cycles"),
    # Measured on a Golden Cove: two of them per cycle to one line, one line per cycle.
    [((0, 8), 1.0), ((0, 64), 2.0), ((0, 8, 64, 72), 2.0), ((0, 8, 64), 2.0), ((0, 8, 16, 64), 3.0)],
)
def test_stores_that_follow_each_other_to_one_line_share_cycles(
    offsets: tuple[int, ...], cycles: float
) -> None:
    times = MemoryTimes(to_one_line=0.5, to_another_line=1.0)
    stores = block("\n".join(f"mov qword ptr [rsi+{offset}], rax" for offset in offsets))
    shape = CodeShape(len(stores.code), loop=False)
    found = {
        one.kind: one for one in predict_core(accesses_of(stores), shape, replace(CORE, memory=times)).bounds
    }
    assert found[BoundKind.MEMORY].cycles == cycles
    assert found[BoundKind.PORTS].cycles == cycles
    assert predicted("\n".join(["mov qword ptr [rsi], rax"] * 3)).bounds[0].cycles == 3.0


@pytest.mark.parametrize(
    ("offsets", "cycles"),
    # Measured on a Zen 4: two per cycle to one half of a line, as many as there are; one half per cycle.
    [((0, 8), 1.0), ((0, 32), 2.0), ((24, 16, 104, 24), 2.0), ((24, 16, 32, 8, 80), 4.0), ((32, 16, 8), 2.0)],
)
def test_some_cores_write_half_a_line_per_cycle_and_merge_what_goes_there(
    offsets: tuple[int, ...], cycles: float
) -> None:
    times = MemoryTimes(to_one_line=0.5, to_another_line=1.0, to_another_half=1.0, three_and_one=0.5)
    stores = block("\n".join(f"mov qword ptr [rsi+{offset}], rax" for offset in offsets))
    core = replace(CORE, memory=times)
    found = predict_core(accesses_of(stores), CodeShape(len(stores.code), loop=False), core)
    memory = next(one for one in found.bounds if one.kind is BoundKind.MEMORY)
    assert memory.cycles == cycles
    assert "half" in memory.why or "halves" in memory.why


def test_a_store_that_shares_a_cycle_still_computes_its_address() -> None:
    """Zen 4: three ports compute addresses; one of them, in a mapping, is the only one that stores go to."""
    assert CORE.mapping is not None
    usage = {**CORE.mapping.usage, LOAD: ((0b111, 1),), STORE: ((0b001, 1),)}
    core = replace(
        CORE,
        mapping=replace(CORE.mapping, usage=usage),
        memory=MemoryTimes(to_one_line=0.5, to_another_line=1.0),
    )
    one = block("mov rbx, qword ptr [rdi]\nmov qword ptr [rsi], rax")
    found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), core)
    assert {each.kind: each.cycles for each in found.bounds}[BoundKind.PORTS] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("code", "cycles"),
    # Measured on a Golden Cove: what moves on fills its lines, and what is left over waits for nothing.
    [
        ("mov qword ptr [rsi], rax\nmov qword ptr [rsi+8], rax\nsub rsi, 24", 1.0),
        ("mov qword ptr [rsi], rax\nmov qword ptr [rsi+64], rax\nadd rsi, 128", 2.0),
        ("mov qword ptr [rsi], rax\nmov rbx, qword ptr [rdi]\nadd rsi, 64", 1.0),
        ("mov qword ptr [rsi], rax\nmov rbx, qword ptr [rdi]\nadd rsi, 8", 0.5),
        ("push rax\npush rbx\npush rcx\nsub rsp, 8", 1.5),
    ],
)
def test_stores_that_move_on_are_followed_through_their_lines(code: str, cycles: float) -> None:
    one = block(code)
    core = replace(CORE, memory=MemoryTimes(to_one_line=0.5, to_another_line=1.0))
    found = predict_core(accesses_of(one, equal_start=True), CodeShape(len(one.code), loop=False), core)
    wanted = {each.kind: each.cycles for each in found.bounds}[BoundKind.MEMORY]
    assert wanted == pytest.approx(cycles, abs=0.07)


def test_what_only_a_store_takes_alone_is_what_its_line_takes() -> None:
    code = "movaps xmmword ptr [rsi], xmm0\nmovaps xmmword ptr [rsi+16], xmm1"
    one = block(code)
    store = "movaps MEM[128]:W, XMM:R"
    times = MemoryTimes(to_one_line=0.5, to_another_line=1.0)
    for alone, ports in ((1.0, 0.0), (1.28, 0.0), (1.5, 3.0)):  # what takes longer does more than store
        core = replace(CORE, alone={store: alone}, memory=times)
        found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), core)
        by_kind = {each.kind: each.cycles for each in found.bounds}
        assert (by_kind[BoundKind.PORTS], by_kind[BoundKind.MEMORY]) == (ports, 1.0)


def test_forwarding_that_stores_hide_takes_no_time() -> None:
    one = block("mov qword ptr [rsi], rax\nmov rax, qword ptr [rsi]\nadd rax, rbx")
    for forwarded, cycles in ((0.9, 1.0), (1.4, 2.4)):
        core = replace(CORE, memory=MemoryTimes({(64, 64, 0, False): forwarded}, to_another_line=1.0))
        found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), core)
        assert max(each.cycles for each in found.bounds if each.chain) == pytest.approx(cycles)


def test_without_a_port_for_stores_alone_their_bound_stands_beside_the_others() -> None:
    assert CORE.mapping is not None
    two = replace(CORE.mapping, usage={**CORE.mapping.usage, STORE: ((0b1100, 1),)})
    core = replace(CORE, mapping=two, memory=MemoryTimes(to_one_line=0.5, to_another_line=1.0))
    stores = block("mov qword ptr [rsi], rax\nmov qword ptr [rsi+64], rax")
    found = predict_core(accesses_of(stores), CodeShape(len(stores.code), loop=False), core)
    by_kind = {one.kind: one.cycles for one in found.bounds}
    assert by_kind[BoundKind.PORTS] == 1.0
    assert by_kind[BoundKind.MEMORY] == 2.0


def test_pushes_go_to_one_line() -> None:
    """Golden Cove: two per cycle, on and on."""
    core = replace(CORE, memory=MemoryTimes(to_one_line=0.5, to_another_line=1.0))
    pushes = block("push rax\npush rbx\npush rcx")
    found = predict_core(accesses_of(pushes), CodeShape(len(pushes.code), loop=False), core)
    assert {one.kind: one.cycles for one in found.bounds}[BoundKind.MEMORY] == 1.5


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("mov byte ptr [rsi], al\nmov rbx, qword ptr [rsi]", 15.0),
        ("mov rbx, qword ptr [rsi]\nmov byte ptr [rsi+2], al", 15.0),  # that of the iteration before
        ("mov byte ptr [rsi], al\nmov rbx, qword ptr [rsi-8]\nadd rsi, 8", 7.5),  # every second one waits
        ("mov qword ptr [rsi], rax\nmov bl, byte ptr [rsi+2]", 0.0),
        ("mov byte ptr [rsi], al\nmov rbx, qword ptr [rsi+8]", 0.0),
    ],
)
def test_a_load_that_wants_more_than_was_stored_holds_up_every_iteration(code: str, cycles: float) -> None:
    one = block(code)
    core = replace(CORE, memory=MemoryTimes(blocked=15.0))
    bounds = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False), core).bounds
    assert {each.kind: each.cycles for each in bounds}.get(BoundKind.MEMORY, 0.0) == cycles


@pytest.mark.parametrize(
    ("offsets", "cycles"),
    # Measured on a Golden Cove: three words per cycle, the same one twice, whatever its line.
    [((0,), 0.5), ((0, 8), 0.5), ((24, 24), 1.0), ((24, 24 + 64), 1.0), ((0, 4, 8), 1.0)],
)
def test_loads_of_one_word_wait_for_each_other(offsets: tuple[int, ...], cycles: float) -> None:
    loads = block("\n".join(f"mov eax, dword ptr [rsi+{offset}]" for offset in offsets))
    core = replace(CORE, memory=MemoryTimes(of_one_word=0.5))
    found = predict_core(accesses_of(loads), CodeShape(len(loads.code), loop=False), core)
    assert {one.kind: one.cycles for one in found.bounds}[BoundKind.MEMORY] == cycles


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("mov rdx, qword ptr [rsi+8]\nmov rax, qword ptr [rdi+8]", 1.0),  # one word, by two registers
        ("mov rdx, qword ptr [rsi+8]\nmov rax, qword ptr [rdx+72]", 1.0),  # rdx is what registers start with
        ("mov rdx, qword ptr [rsi+8]\nmov rax, qword ptr [rdi+16]", 0.5),
        ("mov qword ptr [rsi], rax\nmov qword ptr [rdi+8], rax", 1.0),  # one line
        ("mov qword ptr [rsi], rax\nmov qword ptr [rdi+64], rax", 2.0),
        ("lea rcx, [rsi+1]\nmov qword ptr [rsi], rax\nmov rdx, qword ptr [rcx-1]", 4.0),  # forwarded
        ("mov qword ptr [rsi], rax\nmov rdx, qword ptr [rsi+rdi-0x62345600]", 12.0),  # with an index
        (
            "mov qword ptr [rsi], rax\nmov rdx, qword ptr [rsi+8*rdi+0x5000]",
            15.0,
        ),  # the same memory by another address
        ("mov rax, qword ptr [rsi]\nmov qword ptr [rsi+8], rax\nadd rsi, 8", 4.0),  # of the iteration before
        ("mov rax, qword ptr [rsi]\nmov qword ptr [rsi+16], rax\nadd rsi, 8", 0.5),  # of the one before that
    ],
)
def test_where_all_starts_alike_accesses_meet_by_what_their_addresses_are(code: str, cycles: float) -> None:
    one = block(code + "\nmov rax, rdx" if "rax\nmov rdx" in code else code)
    times = MemoryTimes(
        {(64, 64, 0, False): 4.0},
        indexed=12.0,
        blocked=15.0,
        of_one_word=0.5,
        to_one_line=0.5,
        to_another_line=1.0,
    )
    core = replace(CORE, memory=times)
    bounds = predict_core(
        accesses_of(one, equal_start=True), CodeShape(len(one.code), loop=False), core
    ).bounds
    wanted = {each.kind: each.cycles for each in bounds}
    assert wanted[BoundKind.MEMORY] == pytest.approx(cycles)


@pytest.mark.parametrize(
    ("code", "foreseen", "cycles"),
    [
        ("mov qword ptr [rsp], rax\nmov rbx, qword ptr [rbx]", 0.5, 1.0),  # the stores' own time
        ("mov qword ptr [rsp], rax\nmov rbx, qword ptr [rbx]", 5.0, 5.0),
        ("mov qword ptr [rsp], rax\nmov rbx, qword ptr [rbx]", None, 5.0),
        ("mov qword ptr [rsp], rax\nmov rbx, qword ptr [rbx+rdi]", 0.5, 5.0),  # an index
        ("mov qword ptr [rsp], rax\nmov rbx, qword ptr [rbx+8]", 0.5, 5.0),  # another place
        ("mov dword ptr [rsp], eax\nmov rbx, qword ptr [rbx]", 0.5, 5.0),  # a part of it
        ("mov qword ptr [rsp], rbx\nmov rbx, qword ptr [rbx]", 0.5, 4.0),  # the value is waited for
    ],
)
def test_a_load_that_a_store_serves_waits_for_no_address_where_that_is_foreseen(
    code: str, foreseen: float | None, cycles: float
) -> None:
    one = block(code)
    times = MemoryTimes({(64, 64, 0, False): 4.0}, to_one_line=1.0, to_another_line=1.0, foreseen=foreseen)
    core = replace(CORE, memory=times)
    found = predict_core(accesses_of(one, equal_start=True), CodeShape(len(one.code), loop=False), core)
    kinds = (BoundKind.DEPENDENCES, BoundKind.MEMORY)
    assert max(each.cycles for each in found.bounds if each.kind in kinds) == pytest.approx(cycles)


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
