"""What a core model says of a block: per instruction, with ranges for what is unknown, and what helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, CoreModel
from inference.core.core_model.dependences import AT_MOST_BASIS
from inference.core.loop.analysis import analyse
from inference.core.loop.values import Changes, CycleRange, LoopAnalysis, LoopBound, RemedyKind, UnknownPart
from tests.core.core_model.small_core import ADD, CORE, IMUL
from tests.core.loop.modelled_blocks import (
    JUMPING,
    UNFUSED,
    analysis,
    block_of,
    loop_of,
    on_core,
    random_block,
    recorded_core,
)

SEEDS = range(60)
CHAIN = "imul rax, rbx\nadd rax, rcx"


def bound(found: LoopAnalysis, kind: BoundKind) -> LoopBound:
    (only,) = [bound for bound in found.bounds if bound.kind is kind]
    return only


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "model", [CORE, JUMPING, UNFUSED, recorded_core()], ids=["toy", "fused", "unfused", "zen4"]
)
@pytest.mark.parametrize("nearest", [False, True])
def test_the_table_sums_to_the_loads_whose_largest_is_the_port_bound(
    seed: int, model: CoreModel, nearest: bool
) -> None:
    block = random_block(seed)
    found = analyse(on_core(block, model, nearest=nearest))
    rows = [row.pressure or (0.0,) * len(found.ports) for row in found.instructions]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    assert len(found.instructions) == len(block.listing)
    assert sums == pytest.approx(list(found.port_loads), abs=1e-9)
    ports = bound(found, BoundKind.PORTS)
    if "alone" not in ports.why:
        assert max(sums) == pytest.approx(ports.usual, abs=2e-3)
    for row in found.instructions:
        assert (row.uops is None) == (row.pressure is None)
        if row.uops == ():
            assert not any(row.pressure or ())


@pytest.mark.parametrize("seed", SEEDS)
def test_ranges_hold_what_becomes_known(seed: int) -> None:
    """Whatever is measured later: the cycles were not below the range, nor above a closed one."""
    block = random_block(seed)
    whole = recorded_core()
    known = analyse(on_core(block, whole, nearest=True))
    schemes = sorted({row.scheme for row in known.instructions})
    assert whole.mapping is not None
    for scheme in schemes:
        usage = {text: uops for text, uops in whole.mapping.usage.items() if text != scheme}
        slots = {text: count for text, count in whole.mapping.slots.items() if text != scheme}
        latencies = {text: pairs for text, pairs in whole.latencies.items() if text != scheme}
        lesser = replace(whole, mapping=replace(whole.mapping, usage=usage, slots=slots), latencies=latencies)
        found = analyse(on_core(block, lesser, nearest=False))
        complete = analyse(on_core(block, whole, nearest=False))
        assert found.cycles.low <= complete.usual + 1e-6
        if found.cycles.high is not None:
            assert complete.usual <= found.cycles.high + 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_every_analysis_is_consistent(seed: int) -> None:
    found = analyse(on_core(random_block(seed), recorded_core()))
    assert found.usual == max(one.usual for one in found.bounds)
    assert [one.usual for one in found.bounds] == sorted((one.usual for one in found.bounds), reverse=True)
    for one in (*found.bounds, LoopBound(BoundKind.PORTS, found.cycles, found.usual, "")):
        assert one.cycles.low <= one.usual + 1e-9
        assert one.cycles.high is None or one.usual <= one.cycles.high + 1e-9
    keys = [dependence.key for dependence in found.dependences]
    assert len(keys) == len(set(keys))
    assert not any("," in key for key in keys)
    if any(one.chain for one in found.bounds):
        assert any(dependence.is_critical for dependence in found.dependences)
    for remedy in found.remedies:
        assert remedy.cycles < found.usual
        assert not remedy.dependence or remedy.dependence in keys
    unknown = any(row.unknown for row in found.instructions)
    assert unknown or found.cycles.high is not None


def test_a_chain_is_named_by_its_edges_and_instructions() -> None:
    found = analysis(CHAIN, CORE)
    assert found.cycles == CycleRange(4.0, 4.0)
    assert [row.on_chain for row in found.instructions] == [3.0, 1.0]
    critical = {one.key: (one.cycles, one.iterations) for one in found.dependences if one.is_critical}
    assert critical == {"0-1-rax": (1.0, 0), "1-0-rax": (3.0, 1)}


def test_dependences_that_are_taken_away_no_longer_count() -> None:
    without = analysis(CHAIN, CORE, changes=Changes(frozenset({"1-0-rax"})))
    assert without.usual == 1.0  # the multiplier
    assert "1-0-rax" not in {one.key for one in without.dependences}
    assert without.simulated == pytest.approx(1.0, abs=0.05)
    everything = frozenset(one.key for one in analysis(CHAIN, CORE).dependences)
    assert bound(analysis(CHAIN, CORE, changes=Changes(everything)), BoundKind.DEPENDENCES).usual == 0
    assert analysis(CHAIN, CORE, changes=Changes(frozenset({"7-0-rax", "x"}))).usual == 4.0


def test_a_dependence_through_memory_can_be_taken_away() -> None:
    code = "mov rax, qword ptr [rsi]\nadd rax, rbx\nmov qword ptr [rsi], rax"
    found = analysis(code, CORE)
    assert found.bounds[0].kind is BoundKind.MEMORY
    assert found.usual == 5.0
    without = analysis(code, CORE, changes=Changes(frozenset({"2-0-memory"})))
    assert without.usual == 1.0
    remedies = {remedy.text: remedy.cycles for remedy in found.remedies}
    assert remedies == {
        "Without this chain (`mov` → `add` → `mov`)": 1.0,
        "Value kept in a register from `mov` to `mov`": 1.0,
    }


def test_a_value_in_a_register_still_waits_for_its_computation() -> None:
    found = analysis("mov rax, qword ptr [rsi]\nimul rax, rbx\nmov qword ptr [rsi], rax", CORE)
    assert found.usual == 7.0
    kept = [remedy.cycles for remedy in found.remedies if remedy.text.startswith("Value kept")]
    assert kept == [3.0]


def test_given_latencies_replace_measured_ones_in_bounds_and_simulation() -> None:
    found = analysis(CHAIN, CORE, changes=Changes(latencies={0: 10.0}))
    assert found.usual == 11.0
    assert found.simulated == pytest.approx(11.0, abs=0.05)
    assert found.instructions[0].latency == 10.0
    assert found.instructions[0].note == "latency 10, given"


def test_the_given_latency_of_a_load_counts_from_its_address() -> None:
    code = "mov rax, qword ptr [rax]\nadd rcx, qword ptr [rax]"
    miss = Changes(latencies={0: 40.0, 1: 40.0})
    found = analysis(code, recorded_core(), changes=miss)
    assert bound(found, BoundKind.DEPENDENCES).usual == 40.0  # rcx waits for rcx one cycle only
    assert found.simulated == pytest.approx(40.0, rel=0.01)
    loads = [remedy for remedy in found.remedies if remedy.kind is RemedyKind.LOADS]
    assert [remedy.cycles for remedy in loads] == [pytest.approx(4.0, abs=0.1)]
    hit = analysis(code, recorded_core(), changes=replace(miss, loads_hit=True))
    assert hit.usual == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize("cycles", [0.0, 255.0, 1000.0])
def test_any_latency_can_be_given(cycles: float) -> None:
    found = analysis(CHAIN, CORE, changes=Changes(latencies={0: cycles, 1: cycles, 77: 1.0}))
    assert found.simulated is not None
    assert bound(found, BoundKind.DEPENDENCES).usual == 2 * cycles


def test_an_unknown_latency_on_a_chain_opens_the_range() -> None:
    lesser = replace(CORE, latencies={text: pairs for text, pairs in CORE.latencies.items() if text != IMUL})
    found = analysis(CHAIN, lesser)
    assert found.instructions[0].unknown == (UnknownPart.LATENCY,)
    assert found.instructions[0].latency is None
    assert found.cycles == CycleRange(2.0, None)  # it needs a port: one cycle at least
    assert {one.key for one in found.dependences if one.cycles is None} == {"1-0-rax"}
    assert found.remedies == ()


def test_an_unknown_latency_beside_chains_opens_nothing() -> None:
    lesser = replace(CORE, latencies={text: pairs for text, pairs in CORE.latencies.items() if text != IMUL})
    found = analysis("add rax, rcx\nmov rdx, rax\nimul rdx, rax\nxor r8, rdx", lesser)
    assert found.instructions[2].unknown == (UnknownPart.LATENCY,)
    assert found.cycles.is_exact


def test_unknown_ports_leave_the_other_bounds_exact() -> None:
    found = analysis("add rax, rbx\npopcnt rdx, rax", CORE)
    assert UnknownPart.PORTS in found.instructions[1].unknown
    assert found.instructions[1].pressure is None
    assert found.instructions[1].slots is None
    assert bound(found, BoundKind.PORTS).cycles.high is None
    assert bound(found, BoundKind.SLOTS).cycles == CycleRange(0.5, None)  # a slot at least
    assert bound(found, BoundKind.DEPENDENCES).cycles.is_exact
    assert found.cycles == CycleRange(1.0, None)
    assert found.simulated is None


def test_a_latency_that_is_at_most_known_gives_a_closed_range() -> None:
    pairs = {("2 address", "1"): 7.0}
    text = "mov GPR[64]:W, MEM[64]:R"
    model = replace(
        CORE, latencies={**CORE.latencies, text: pairs}, bases={text: dict.fromkeys(pairs, AT_MOST_BASIS)}
    )
    found = analysis("mov rax, qword ptr [rax]", model)
    assert found.cycles == CycleRange(CORE.memory.load, 7.0)
    assert found.usual == 7.0


def test_without_mapping_latencies_or_front_end_nothing_is_certain() -> None:
    found = analysis(CHAIN, CoreModel())
    assert found.cycles == CycleRange(0.0, None)
    assert not found.ports
    assert not found.port_loads
    assert found.simulated is None
    for row in found.instructions:
        assert {row.uops, row.pressure, row.slots, row.latency} == {None}
    assert set(found.lacking) == {
        "no port mapping",
        "no latencies measured; assuming 1 cycle",
        "no front end",
    }


def test_what_stands_for_a_scheme_is_named_and_counts_as_measured() -> None:
    found = analysis("imul eax, ebx", CORE, nearest=True)
    (row,) = found.instructions
    assert row.unknown == ()
    assert row.substitution is not None
    assert row.substitution.nearest == IMUL
    assert found.cycles == CycleRange(3.0, 3.0)


def test_a_jump_with_known_ports_takes_the_place_of_its_comparison() -> None:
    fused, unfused = (analyse(on_core(loop_of("add rax, rbx"), model)) for model in (JUMPING, UNFUSED))
    assert [row.note for row in fused.instructions] == ["", "fused with the next", ""]
    assert fused.instructions[1].uops == ()
    assert fused.instructions[2].uops == unfused.instructions[2].uops == ((16, 1),)
    assert [row.slots for row in fused.instructions] == [1.0, 1.0, 0.0]
    assert [row.slots for row in unfused.instructions] == [1.0, 1.0, 1.0]
    assert fused.port_loads == pytest.approx((0.5, 0.5, 0, 0, 1))
    assert unfused.port_loads == pytest.approx((1, 1, 0, 0, 1))


def test_idioms_and_eliminated_moves_have_no_ports() -> None:
    found = analysis("xor rax, rax\nmov rcx, rax\nadd rcx, rbx", CORE)
    assert [row.note for row in found.instructions] == ["no port: equal registers", "eliminated", ""]
    assert [row.uops for row in found.instructions] == [(), (), ((0b0011, 1),)]


def test_nops_of_a_measured_rate_need_slots_alone() -> None:
    found = analysis("nop\nadd rax, rbx", recorded_core())
    assert found.instructions[0].unknown == ()
    assert found.instructions[0].uops == ()
    assert found.cycles.is_exact
    assert found.simulated is not None
    assert UnknownPart.PORTS in analysis("nop\nadd rax, rbx", CORE).instructions[0].unknown


def test_fused_moves_take_no_slot_in_table_and_simulation() -> None:
    core = recorded_core()
    assert core.front_end is not None
    fusing = replace(core.front_end, fused=frozenset({"mov reg, reg + add reg, reg"}))
    code = "\n".join(f"mov r{k}, rbx\nadd r{k}, rcx" for k in range(8, 12))
    found = analysis(code, replace(core, front_end=fusing))
    assert [row.slots for row in found.instructions] == [0.0, 1.0] * 4
    assert {row.note for row in found.instructions[::2]} == {"fused with the next"}
    assert found.simulated == pytest.approx(found.usual, rel=0.03)


def test_accumulators_are_advised_where_a_sum_is_all_that_waits() -> None:
    code = ".L:\nadd rsi, 8\nvaddsd xmm0, xmm0, qword ptr [rsi]\ncmp rsi, rdi\njne .L"
    found = analysis(code, recorded_core(), nearest=True)
    advised = {remedy.text: remedy.cycles for remedy in found.remedies if "accumulators" in remedy.text}
    assert advised["2 accumulators (sums are rounded differently)"] == pytest.approx(1.5, abs=0.01)
    assert min(advised.values()) == pytest.approx(found.bounds[1].usual)


@pytest.mark.parametrize(
    "code",
    [
        "add rax, rbx",  # the same value each time
        "add rsi, 8",
        "imul rax, rax",
        "mov rax, qword ptr [rax]",
        "vaddsd xmm0, xmm0, qword ptr [rsi]\nadd rsi, 8\nvmovsd qword ptr [rsi], xmm0",  # a prefix sum
        "vmulsd xmm0, xmm0, xmm1\nvaddsd xmm0, xmm0, qword ptr [rsi]\nadd rsi, 8",
    ],
)
def test_no_accumulators_are_advised_elsewhere(code: str) -> None:
    found = analysis(code, recorded_core(), nearest=True)
    assert not any("accumulators" in remedy.text for remedy in found.remedies)


def test_for_busy_ports_and_front_ends_remedies_are_computed() -> None:
    busy = analysis("imul rax, rbx\nimul rcx, rbx\nimul rdx, rbx\nimul rsi, rbx\nadd rdi, rbx", CORE)
    assert [(remedy.text, remedy.cycles) for remedy in busy.remedies] == [
        ("With one `imul` less on port 0", 3.0)
    ]
    code = ".L:\nadd rax, rbx\njmp .L"
    slow = replace(CORE, front_end=replace(JUMPING.front_end, taken=0.5))  # type: ignore[type-var]
    jump = analyse(on_core(block_of(code), slow))
    assert ("Unrolled twice", 1.0) in [(remedy.text, remedy.cycles) for remedy in jump.remedies]


def test_the_simulation_says_where_it_differs() -> None:
    same = analysis(CHAIN, CORE)
    assert same.simulated == pytest.approx(4.0, abs=0.02)
    assert same.simulation_note == ""


@pytest.mark.parametrize("length", [1, 100])
def test_one_and_many_instructions_are_analysed(length: int) -> None:
    found = analysis("\n".join(["add rax, rbx"] * length), CORE)
    assert found.usual == length
    assert len(found.instructions) == length
    assert sum(one.is_critical for one in found.dependences) == length


def test_a_scheme_of_the_analysis_is_that_of_the_block() -> None:
    assert analysis("add rax, rbx", CORE).instructions[0].scheme == ADD
