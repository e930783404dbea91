"""Simulated cores with memory units of any kind: what they do is found out, and predicted of other code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from inference.core.core_model import Assumptions, CoreModel, FrontEndLimits, MemoryTimes
from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.latency import LatencyProblem, infer_latencies
from inference.core.protocols import Json
from inference.isa.blocks import Block, read_blocks
from inference.isa.chains import MemoryCondition
from inference.isa.dependences import MEMORY_BYTES
from inference.isa.x86.chains import connectors, memory_chains, pair_chains
from inference.measuring.simulated_memory import MemoryUnit, SimulatedMemory, sampled_memory_unit
from tests.drawn import fewer

ZEN5 = MemoryUnit()
UNITS = [ZEN5, *map(sampled_memory_unit, range(fewer(9)))]
NEAR = 0.03
AGAIN = "movsxd rax, eax"
PLACE, OTHER = "qword ptr [rsi]", "qword ptr [rdi]"


def block(*lines: str) -> Block:
    (found,) = read_blocks("\n".join(lines), 1)
    return found


@cache
def found_out(unit: MemoryUnit) -> MemoryTimes:
    return memory_times(rows_of(unit))


def rows_of(unit: MemoryUnit) -> list[Json]:
    ways = [pair_chains(link) for link in connectors()]
    problem = LatencyProblem([], ways, memory=memory_chains())
    return [one.as_json() for one in infer_latencies(problem, SimulatedMemory(unit)).memory]


def model_of(unit: MemoryUnit) -> CoreModel:
    alone = SimulatedMemory(unit).cycles(block(f"add {PLACE}, rax"), in_loop=True)
    update = {("1 data", "1 data"): alone, ("2", "1 data"): 1.0}
    return CoreModel(
        latencies={"add MEM[64]:RW, GPR[64]:R": update},
        moves=frozenset({"mov GPR[64]:W, GPR[64]:R"}),
        memory=found_out(unit),
        front_end=FrontEndLimits(slots=unit.width, straight_instructions=unit.width),
    )


def stores(count: int, *behind: int) -> list[str]:
    return [f"mov qword ptr [rbx+{64 * k + more}], rcx" for k in range(count) for more in (0, *behind)]


def rows(unit: MemoryUnit) -> Iterator[tuple[str, list[str]]]:
    """What a table of a core's properties says, as blocks."""
    for lines in {1, 2, 5, 11, 12, 13, min(unit.lines, 24), min(unit.lines + 1, 24), 20}:
        yield f"{lines} lines", stores(lines)
    yield "16 lines twice", stores(16, 8)
    yield "wide stores", [f"vmovdqu ymmword ptr [rbx+{64 * k}], ymm0" for k in range(2)]
    yield "widest stores", ["vmovdqu32 zmmword ptr [rbx], zmm0"]
    yield "pops", ["pop rbx", "pop rbp", "pop r12"]
    yield "pops behind what moves their pointer", ["add rsp, 8", "pop rbx", "pop rbp", "pop r12"]
    yield "pops beside other loads", ["pop rbx", "pop rbp", "mov rcx, qword ptr [rdi]"]
    yield "pops of one place", ["mov rsp, rdi", "pop rbx", "pop rbp"]
    yield "what moves the pointer back", ["pop rbx", "pop rbp", "sub rsp, 16"]
    yield "pushes", ["push rbx", "push rbp", "push r12"]
    yield "one register", [f"mov {PLACE}, rax", f"mov rax, {PLACE}", AGAIN]
    yield "an operation on it", [f"mov {PLACE}, rax", f"xor rax, {PLACE}", AGAIN]
    yield "its sign extended", [f"mov {PLACE}, rax", "movsxd rax, dword ptr [rsi]", AGAIN]
    yield "the low half", [f"mov {PLACE}, rax", "mov eax, dword ptr [rsi]", AGAIN]
    for writing in ("lea rsi, [rsi]", "mov rsi, r8", "mov rsi, qword ptr [r8+128]"):
        yield writing, [f"mov {PLACE}, rax", writing, f"mov rax, {PLACE}", AGAIN]
    yield "another register", [f"mov {PLACE}, rax", f"mov rax, {OTHER}", AGAIN]
    yield "another page", [f"mov {PLACE}, rcx", f"mov rbx, qword ptr [rdi+{MEMORY_BYTES}]"]
    yield "another page, chained", [f"mov {PLACE}, rax", f"mov rax, qword ptr [rdi+{MEMORY_BYTES}]", AGAIN]
    yield "the upper half", [f"mov {PLACE}, rax", "mov eax, dword ptr [rsi+4]", AGAIN]
    yield "a byte", [f"mov {PLACE}, rax", "movzx eax, byte ptr [rsi+7]", AGAIN]
    yield "more than was stored", ["mov dword ptr [rsi], eax", f"mov rax, {PLACE}", AGAIN]
    yield "vectors", ["vmovdqu xmmword ptr [rsi], xmm1", "vmovdqu xmm1, xmmword ptr [rsi]"]
    yield "an update", [f"add {PLACE}, rdx"]
    yield "an update by a loaded register", ["add qword ptr [rax+8], rdi", "mov rax, qword ptr [rsp+456]"]
    yield "overlaps by chance", ["add qword ptr [rdi+8], rdx", "add qword ptr [rsi+8], rdx"]
    yield (
        "what waits one after another",
        [
            *("mov byte ptr [rsi], al", f"mov rbx, {PLACE}"),
            *("mov byte ptr [rsi+8], al", "mov rcx, qword ptr [rsi+8]"),
        ],
    )
    for between in {1, min(unit.other_stores, 15), min(unit.other_stores + 1, 16)}:
        others = [f"mov qword ptr [rdi+{64 + 8 * (k % 8)}], rcx" for k in range(between)]
        again = [AGAIN] * 20
        yield f"{between} stores between", [f"mov {PLACE}, rax", *others, f"mov rax, {PLACE}", *again]


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("unit", UNITS, ids=[f"{k}" for k in range(len(UNITS))])
def test_what_was_found_out_predicts_other_code(unit: MemoryUnit, in_loop: bool) -> None:
    predictor = CoreModelBlocks(model_of(unit), Assumptions(in_loop=in_loop))
    off = {}
    for name, lines in rows(unit):
        code = block(*lines)
        true = SimulatedMemory(unit).cycles(code, in_loop=in_loop)
        predicted = predictor.predict(code).cycles
        if abs(predicted - true) > NEAR * true:
            off[name] = (predicted, true)
    assert not off


def test_what_is_forwarded_takes_what_it_takes_at_a_good_moment() -> None:
    """A Zen 4 takes 7.0 to 7.4 cycles in most chains, 6.0 by a loaded address, 6.7 in many pairs."""
    rows = rows_of(ZEN5)
    for row in rows:
        if row["condition"] == MemoryCondition.REWRITTEN_UPDATE and row["address"].endswith("a load"):
            row["cycles"] = 6.0
        if row["condition"] == MemoryCondition.PAIRS_IN_LOOP and row["how"] == "forwarded":
            row["cycles"] = 6.7 + row["number"] % 3 / 10
    conditions = memory_times(rows).renaming
    assert conditions is not None
    assert conditions.update == 6.0
    assert conditions.forwarded[64, 64, 0, False] == pytest.approx(6.7, abs=0.15)


def test_what_a_core_has_learned_a_part_of_is_no_good_moment() -> None:
    rows = rows_of(ZEN5)
    learned = [row for row in rows if row["condition"] == MemoryCondition.UPDATES_IN_LOOP]
    min((row for row in learned if row["how"] == "forwarded"), key=lambda row: row["number"])["cycles"] = 4.0
    conditions = memory_times(rows).renaming
    assert conditions is not None
    assert conditions.update == found_out(ZEN5).renaming.update  # type: ignore[union-attr]
