"""What a Zen 5 does, fact by fact: a simulated core that behaves so is found out and predicted.

Here are the facts that no other module has:

| fact | where |
|---|---|
| units, and what its scheduler wastes of them | `test_scheduler_inference` |
| stores over lines in turn, renaming of memory, forwarding, overlaps | `test_memory_conditions` |
| bypasses, queues, false dependencies | `test_bypasses` |
| legacy SSE | `test_legacy_sse_latencies` |
| a move in one slot with the operation on the copy | `test_fusion` |
| latencies that depend on immediates | `test_dependences_of_immediates` |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest

from inference.core.core_model import Assumptions, CoreModel, FrontEndLimits
from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.front_end import read_front_end
from inference.core.latency import LatencyProblem, infer_latencies
from inference.isa.blocks import Block, accesses_of, read_blocks
from inference.isa.chains import MemoryChain
from inference.isa.front_end import TimedCode
from inference.isa.x86.chains import connectors, links_of, memory_chains, pair_chains
from inference.isa.x86.front_end import front_end_codes
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.measuring.simulated_memory import MemoryUnit, SimulatedMemory
from inference.storage.core_models import front_end_limits
from inference.storage.latencies import latencies_of_schemes
from tests.core.core_model.dataflow import DataflowCore, OperandWait

NEAR = 0.03
MOVE = "mov GPR[64]:W, GPR[64]:R"
SHIFTS = ("shl GPR[32]:RW, cl:R", "sar GPR[64]:RW, cl:R")
FRONT_END = SimulatedFrontEnd(slots=8, portless=7.11, decoded=4, fetched_bytes=16, kept_flags=40)
MEMORY = MemoryUnit()


@dataclass(frozen=True)
class Row:
    """A fact, blocks that it makes slow or quick with the cycles that they take on the simulated core, how
    these are measured, and what the core model of its measurements is.
    """

    fact: str
    blocks: dict[str, float]
    measured: Callable[[Block, bool], float]
    model: Callable[[], CoreModel]
    loops: Sequence[bool] = (False, True)


def timed(block: Block, in_loop: bool) -> float:
    code = TimedCode(block.code, len(block.instructions), loop=in_loop, copies=0 if in_loop else 100)
    (reading,) = FRONT_END.time([code])
    assert reading.cycles is not None
    return reading.cycles


@cache
def by_front_end() -> CoreModel:
    codes = front_end_codes(offsets=False)
    readings = zip(codes, FRONT_END.time([one.code for one in codes]), strict=True)
    front_end = read_front_end((one, reading.cycles) for one, reading in readings if reading.cycles)
    return CoreModel(front_end=front_end_limits(front_end), moves=frozenset({MOVE}))


def through_memory(block: Block, in_loop: bool) -> float:
    return SimulatedMemory(MEMORY).cycles(block, in_loop=in_loop)


@cache
def by_memory() -> CoreModel:
    def serves(chain: MemoryChain) -> bool:
        return chain.stored == chain.loaded and chain.register_class == "vector"

    ways = [pair_chains(link) for link in connectors()]
    problem = LatencyProblem([], ways, memory=[chain for chain in memory_chains() if serves(chain)])
    rows = infer_latencies(problem, SimulatedMemory(MEMORY)).memory
    times = memory_times([row.as_json() for row in rows])
    return CoreModel(memory=times, front_end=FrontEndLimits(slots=8.0))


def flags_of_zero_shifts(wait: OperandWait) -> float | None:
    if not wait.is_read:
        return None
    is_slow = wait.instruction.scheme in SHIFTS and wait.instruction.immediate == 0
    return 40.0 if is_slow and wait.destination == "flags" else 1.0


def by_dependences(block: Block, in_loop: bool) -> float:
    del in_loop
    return DataflowCore(flags_of_zero_shifts).per_turn(accesses_of(block, equal_start=True))


@cache
def by_latencies() -> CoreModel:
    texts = (*SHIFTS, "rcl GPR[32]:RW, 0x1", "adc GPR[32]:RW, GPR[32]:R", "mov GPR[32]:W, IMM[32]:R")
    pairs = [pair_chains(link) for text in texts for link in links_of(text)]
    problem = LatencyProblem(pairs, [pair_chains(link) for link in connectors()])
    found = infer_latencies(problem, DataflowCore(flags_of_zero_shifts)).pairs
    rows = [(text, [one.as_json() for one in found if one.link.scheme == text], []) for text in texts]
    known = latencies_of_schemes(rows)
    return CoreModel(latencies=known.latencies, by_immediate=known.by_immediate)


ROWS = (
    Row(
        "8 NOPs, and in long loops 7.1 eliminated moves, are dispatched per cycle",
        {
            "\n".join(["nop"] * 16): 2.0,
            "\n".join(f"mov r{8 + k % 8}, rax" for k in range(264)): 264 / 7.11,
            "\n".join(["mov rax, rbx", "nop", "nop"] * 4): 1.5,
        },
        timed,
        by_front_end,
        loops=(True,),
    ),
    Row(
        "4 instructions and 16 bytes are decoded per cycle",
        {
            "\n".join(["nop"] * 16): 4.0,
            "\n".join(["nop word ptr [rax+rax+0x40]"] * 8): 3.0,
            "\n".join(["nop dword ptr [rax+rax+0x12345678]"] * 4): 2.0,
        },
        timed,
        by_front_end,
        loops=(False,),
    ),
    Row(
        "vectors are forwarded in 9 cycles, those of 512 bits in 11",
        {
            "vmovdqu xmmword ptr [rsi], xmm1\nvmovdqu xmm1, xmmword ptr [rsi]": 9.0,
            "vmovdqu ymmword ptr [rsi], ymm1\nvmovdqu ymm1, ymmword ptr [rsi]": 9.0,
            "vmovdqu32 zmmword ptr [rsi], zmm1\nvmovdqu32 zmm1, zmmword ptr [rsi]": 11.0,
        },
        through_memory,
        by_memory,
    ),
    Row(
        "a shift by 0 whose flags are read takes 40 cycles",
        {
            "mov ecx, 0\nshl ebx, cl\nsetb al": 40.0,
            "mov ecx, 32\nshl ebx, cl\nmov eax, edx\nsar edx, cl\nsetb al": 40.0,
            "shl ebx, cl\nsetb al\nshl edx, cl\nsetb bl": 80.0,  # `cl` is 0 at first
        },
        timed,
        by_front_end,
        loops=(True,),
    ),
    Row(
        "flags wait 40 cycles for a shift by 0, and by nothing else",
        {
            "mov ecx, 0\nshl ebx, cl\nadc ebx, eax": 41.0,
            "shl ebx, cl\nadc ebx, eax": 41.0,  # what blocks start with
            "mov ecx, 3\nshl ebx, cl\nadc ebx, eax": 2.0,
            "mov ecx, 32\nshl ebx, cl\nadc ebx, eax": 41.0,
            "mov ecx, 32\nsar rbx, cl\nadc ebx, eax": 2.0,
        },
        by_dependences,
        by_latencies,
        loops=(False,),
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=[row.fact for row in ROWS])
def test_a_fact_is_found_out_and_predicted(row: Row) -> None:
    for text, cycles in row.blocks.items():
        (block,) = read_blocks(text, 1)
        for in_loop in row.loops:
            measured = row.measured(block, in_loop)
            assert measured == pytest.approx(cycles, rel=NEAR), text
            predictor = CoreModelBlocks(row.model(), Assumptions(in_loop=in_loop))
            assert predictor.predict(block).cycles == pytest.approx(measured, rel=NEAR), text


def test_of_a_core_without_slow_shifts_counts_make_no_difference() -> None:
    model = replace(by_latencies(), by_immediate={})
    (block,) = read_blocks("shl ebx, cl\nadc ebx, eax", 1)
    assert CoreModelBlocks(model, Assumptions()).predict(block).cycles == pytest.approx(2.0, rel=NEAR)
