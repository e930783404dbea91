"""How stores and loads of a block hold each other up on a core that is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, MemoryTimes, predict_core
from inference.core.core_model.prediction import CodeShape
from inference.isa.blocks import accesses_of
from tests.core.core_model.small_core import CORE, LOAD, STORE, block, of, predicted


def test_chains_through_memory_are_a_bound_of_their_own() -> None:
    code = "add rsi, 8\nmov qword ptr [rsi], rax\nmov rax, qword ptr [rsi]"
    assert of(code, BoundKind.DEPENDENCES) == 1.0
    assert of(code, BoundKind.MEMORY) == 4.0
    assert predicted(code, [BoundKind.MEMORY]).cycles < 4.0


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
