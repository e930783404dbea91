"""A simulated AArch64 core: what is put in is found by the codes of measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from inference.agent.protocol import Frame
from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.model import CoreModel
from inference.core.front_end import read_front_end
from inference.core.latency import ChainReading, IdiomKind, LatencyProblem, infer_latencies
from inference.isa import llvm_mc
from inference.isa.blocks import accesses_of, block_of_bytes, pairs_of
from inference.isa.bodies import chain_maker, front_end_maker
from inference.isa.chains import DependencyChain
from inference.isa.code.control_flow import CodeStep
from inference.isa.front_end import Aspect
from inference.isa.targets import AARCH64, target_of
from inference.measuring.blocks import item_for_code
from inference.measuring.items import _item
from inference.measuring.simulated_core.core import SimulatedCore
from inference.measuring.simulated_core.sampled import sampled_core

CORE = sampled_core(AARCH64, 1)
MODEL = CORE.model
MAKER = chain_maker(AARCH64)
EOR = "eor GPR[32]:W, GPR[32]:R, GPR[32]:R"
MOVE = "mov GPR[64]:W, GPR[64]:R"
ACCUMULATING = "mla VEC[4S]:RW, VEC[4S]:R, VEC[4S]:R"
MOVING = "ldr GPR[64]:W, MEM[64,post]:R"

needs_llvm = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")


class Executed:
    """Measures chains by executing them on a core."""

    def __init__(self, model: CoreModel) -> None:
        self.core = SimulatedCore(AARCH64, model)
        self.frame = MAKER.frame() or Frame()

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        del repeat
        for chain in chains:
            yield ChainReading(chain, self.core.cycles(self.frame, _item(chain, 0)), 0.0)


def problem_of(*schemes: str) -> LatencyProblem:
    links = [link for scheme in schemes for link in MAKER.links_of(scheme)]
    idioms = [idiom for scheme in schemes for idiom in MAKER.idioms_of(scheme)]
    return LatencyProblem(
        MAKER.chains_of_pairs(links),
        MAKER.chains_of_pairs(MAKER.connectors()),
        idioms,
        MAKER.reference_additions(),
        MAKER.memory_chains(),
        MAKER.mixer(),
    )


@needs_llvm
def test_latencies_idioms_moves_and_memory_are_found_as_they_are() -> None:
    latencies = {ACCUMULATING: {("1", "1"): 1.0, ("2", "1"): 4.0, ("3", "1"): 4.0}}
    latencies |= {MOVING: {("2 address", "1"): 4.0, ("2 address", "base"): 1.0}}
    model = replace(
        MODEL,
        latencies={**MODEL.latencies, **latencies},
        free=frozenset({EOR}),
        portless=frozenset({EOR}),
        moves=frozenset({MOVE}),
    )
    result = infer_latencies(problem_of(EOR, MOVE, ACCUMULATING, MOVING), Executed(model))
    pairs = {(pair.link.scheme, pair.link.source, pair.link.destination): pair.best for pair in result.pairs}
    for scheme, expected in latencies.items():
        for ends, cycles in expected.items():
            assert pairs[(scheme, *ends)] == pytest.approx(cycles), (scheme, ends)
    assert {(idiom.scheme, idiom.kind) for idiom in result.idioms} == {
        (EOR, IdiomKind.ZEROING),
        (MOVE, IdiomKind.ELIMINATED),
    }
    memory = memory_times([row.as_json() for row in result.memory])
    assert memory.load == MODEL.memory.load
    for case, cycles in MODEL.memory.forwarded.items():
        assert memory.forwarded[case] == pytest.approx(cycles), case


def test_codes_show_the_front_end() -> None:
    fused = frozenset({"cmp reg, imm + b.cond", "cmp reg, reg + csel", "adrp + add"})
    limits = FrontEndLimits(
        slots=4.0, straight_instructions=3.0, loop_capacity=1536.0, taken=1.0, nops=4.0, fused=fused
    )
    assert MODEL.mapping is not None
    mapping = replace(MODEL.mapping, issue_width=4.0)
    core = SimulatedCore(AARCH64, CoreModel(mapping, MODEL.latencies, front_end=limits))
    codes = front_end_maker(AARCH64).front_end_codes(offsets=True)
    read = read_front_end((code, core.cycles(*item_for_code(code.code, None, AARCH64))) for code in codes)
    for name, value in (("slots", 4), ("nops", 4), ("straight_instructions", 3), ("loop_capacity", 1536)):
        assert read.number(name).value == pytest.approx(value, rel=0.01), name
    assert read.number("taken").value == pytest.approx(1, rel=0.05)
    assert {pair.name for pair in (*read.fusion, *read.moves) if pair.is_fused} == fused


def steps_of(code: bytes) -> list[CodeStep]:
    reader = target_of(AARCH64).blocks
    assert reader is not None
    return reader.steps_of(code)


def test_codes_of_pairs_contain_the_pairs_that_they_are_named_for() -> None:
    reader, accesses = target_of(AARCH64).blocks, target_of(AARCH64).accesses
    assert reader is not None
    assert accesses is not None
    for code in front_end_maker(AARCH64).front_end_codes(offsets=False):
        if code.aspect not in (Aspect.FUSION, Aspect.MOVE) or not code.value:
            continue
        first, second, *_ = steps_of(code.code.code)
        if code.aspect is Aspect.FUSION:
            loop = reader.close_loop(first.code, second.code)
            assert loop is not None
            assert pairs_of(block_of_bytes(loop, AARCH64))[-1] == code.name
        else:
            assert accesses.moves_of(block_of_bytes(first.code + second.code, AARCH64))[0] == code.name


def test_codes_of_front_ends_use_no_counter_and_are_taken_apart_again() -> None:
    maker = front_end_maker(AARCH64)
    for code in maker.front_end_codes(offsets=False):
        steps = steps_of(code.code.code)
        plain = b"".join(step.code for step in steps[:400] if step.flow == "next")
        if plain:
            block = block_of_bytes(plain, AARCH64)
            assert maker.COUNTER not in {name for row in block.instructions for name in row.registers}
        assert len(maker.fetched_instructions(code.code.code)) == len(steps)


def test_idioms_share_registers_as_their_link_says() -> None:
    same, old = MAKER.idioms_of(EOR)
    for choice, is_joined in ((same, True), (old, False)):
        block = block_of_bytes(choice.pair.chains[0].code, AARCH64)
        [row] = accesses_of(block)
        assert row.same_register is is_joined
    assert MAKER.idioms_of("ldp GPR[64]:W, GPR[64]:W, MEM[128]:R") == ()
    assert MAKER.idioms_of("no such scheme") == ()
