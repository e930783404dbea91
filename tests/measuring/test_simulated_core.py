"""A simulated core takes as long as the simulations of its parts, by the code alone."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import CoreModel, CoreScheduler, MemoryTimes
from inference.core.core_model.simulated_program import UndescribedSchemeError
from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.front_end import read_front_end
from inference.core.mapping import PortMapping, Uops
from inference.isa.blocks import Block, BlockError, read_blocks
from inference.isa.bodies import body_maker, chain_maker, front_end_maker
from inference.isa.front_end import Aspect
from inference.isa.targets import X86
from inference.measuring.blocks import LOOP, BlockOptions, item_for, item_for_code
from inference.measuring.simulated_core.core import ExecutingHarness, SimulatedCore
from inference.measuring.simulated_core.sampled import sampled_core
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.measuring.simulated_memory import MemoryUnit, SimulatedMemory
from tests.drawn import examples
from tests.measuring.test_scheduled_core import CORE as SCHEDULED
from tests.measuring.test_scheduled_core import LATENCIES, MAPPING, POLICY

ADD, LOAD, STORE = "add GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, MEM[64]:R", "mov MEM[64]:W, GPR[64]:R"
MOVE, NOP = "mov GPR[64]:W, GPR[64]:R", "nop GPR[32]:R"
ZEN5 = SimulatedCore(X86, CoreModel(MAPPING, LATENCIES, scheduler=CoreScheduler(POLICY, 8, 0b111111)))
SAMPLED = sampled_core(X86, 3)
PLAIN = Frame(memory_bytes=4096)


def item_of(code: bytes, copies: int = 1) -> BatchItem:
    return BatchItem("a", code * copies, copies, len(code) * max(copies // 2, 1), max(copies // 2, 1), 1)


def block_of(text: str) -> Block:
    [block] = read_blocks(text, 1)
    return block


def cycles_of(core: SimulatedCore, text: str, mode: str = LOOP) -> float:
    return core.cycles(*item_for(block_of(text), BlockOptions(mode), None))


def small_core(**parts: object) -> SimulatedCore:
    """Two ALUs, a load and a store port, four slots."""
    usage: dict[str, Uops] = {ADD: ((3, 1),), LOAD: ((4, 1),), STORE: ((8, 1),), MOVE: ((3, 1),)}
    usage |= {"lea GPR[64]:W, ADDR[B+D8]": ((3, 1),), "imul GPR[64]:RW, GPR[64]:R": ((1, 1),)}
    usage |= {
        "add GPR[64]:RW, MEM[64]:R": ((3, 1), (4, 1)),
        "add MEM[64]:RW, GPR[64]:R": ((3, 1), (4, 1), (8, 1)),
    }
    usage |= {"mov MEM[32]:W, GPR[32]:R": ((8, 1),)}
    model = CoreModel(
        PortMapping(("0", "1", "L", "S"), usage, issue_width=4),
        {"imul GPR[64]:RW, GPR[64]:R": {("1", "1"): 3.0, ("2", "1"): 4.0}},
        memory=MemoryTimes({(64, 64, 0, False): 6.0, (32, 64, 0, False): 15.0}, usual=6.0, load=4.0),
    )
    return SimulatedCore(X86, replace(model, **parts))  # type: ignore[arg-type]  # fields of the model


NAMES = sorted(MAPPING.usage)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(Experiment.of))
@examples(20)
def test_mixes_take_what_the_scheduled_core_takes_for_them(mix: Experiment) -> None:
    body = body_maker(X86).unroll(mix.terms)
    item = BatchItem("a", body.code, body.copies, body.half_bytes, body.half_copies, mix.length)
    # The loop's own jump takes a slot, which changes when ties between ports are broken.
    assert ZEN5.cycles(PLAIN, item) == pytest.approx(SCHEDULED.cycles(mix), rel=0.03)


@pytest.mark.parametrize("scheme", ["imul GPR[64]:RW, GPR[64]:R", "vaddpd XMM:W, XMM:R, XMM:R", LOAD])
def test_chains_take_the_sum_of_their_latencies(scheme: str) -> None:
    core = SimulatedCore(X86, replace(SAMPLED.model, free=frozenset()))  # no chain is an idiom
    maker = chain_maker(X86)
    [*pairs] = maker.chains_of_pairs(maker.links_of(scheme))
    chains = [chain for pair in pairs if pair.isolated for chain in pair.chains]
    assert chains
    for chain in chains:
        latencies = [
            SAMPLED.model.latencies[link.scheme][link.source, link.destination] for link in chain.links
        ]
        [block] = read_blocks(chain.code.hex(), 1)
        cycles = core.cycles(*item_for(block, BlockOptions(), None))
        assert cycles == pytest.approx(sum(filter(None, latencies)), rel=0.01)


def front_end_core(limits: FrontEndLimits) -> SimulatedCore:
    schemes = SAMPLED.model.mapping
    assert schemes is not None
    usage = {
        text: () if text.startswith(("xor", "mov GPR")) else uops for text, uops in schemes.usage.items()
    }
    zeroing = frozenset({"xor GPR[32]:RW, GPR[32]:R"})
    moves = frozenset({MOVE, "mov GPR[32]:W, GPR[32]:R"})
    mapping = PortMapping(schemes.ports, usage, issue_width=limits.slots)
    return SimulatedCore(
        X86, CoreModel(mapping, free=zeroing, portless=zeroing, moves=moves, front_end=limits)
    )


def test_codes_show_the_front_end_that_another_simulation_has() -> None:
    other = replace(SimulatedFrontEnd.sampled(1), fused=frozenset({"cmp"}))
    names = {code.name for code in front_end_maker(X86).front_end_codes(offsets=False)}
    core = front_end_core(
        FrontEndLimits(
            slots=other.slots,
            straight_instructions=other.decoded,
            straight_bytes=other.fetched_bytes,
            loop_capacity=other.capacity,
            taken=other.taken,
            nops=other.slots,
            fused=frozenset(name for name in names if " + j" in name and name.split()[0] in other.fused),
        )
    )
    shown = {Aspect.SIZE, Aspect.STRAIGHT_LENGTH, Aspect.STRAIGHT, Aspect.JUMP, Aspect.FUSION}
    codes = [
        code
        for code in front_end_maker(X86).front_end_codes(offsets=False)
        if code.aspect in shown and (code.aspect is not Aspect.FUSION or code.name.endswith("reg + je"))
    ]
    read = read_front_end((code, core.cycles(*item_for_code(code.code, None))) for code in codes)
    expected = read_front_end(
        zip(
            codes,
            (reading.cycles or 0.0 for reading in other.time([code.code for code in codes])),
            strict=True,
        )
    )
    for name in (
        "slots",
        "nops",
        "loop_capacity",
        "straight_instructions",
        "straight_bytes",
        "taken",
        "fused",
    ):
        assert read.number(name).value == pytest.approx(expected.number(name).value, rel=0.04), name


FORWARDED = {
    "mov qword ptr [rsi], rax\nmov rax, qword ptr [rsi]\nadd rax, rbx": (64, 64),
    "mov dword ptr [rsi], eax\nmov rax, qword ptr [rsi]\nadd rax, rbx": (32, 64),
    "mov qword ptr [rsi+8], rax\nmov rax, qword ptr [rdi+8]\nadd rax, rbx": (64, 64),
}


@pytest.mark.parametrize("text", FORWARDED)
def test_loads_wait_for_stores_as_another_simulation_says(text: str) -> None:
    unit = MemoryUnit(load=4, forwarding=6, failing=12, renames=False, learned=0, far=1)
    other = SimulatedMemory(unit).cycles(block_of(text), in_loop=True)
    ends = FORWARDED[text]
    times = MemoryTimes({(64, 64, 0, False): 6.0, (32, 64, 0, False): other - 1}, load=4.0)
    assert cycles_of(small_core(memory=times), text) == pytest.approx(7 if ends == (64, 64) else other)


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("add rax, rax", 1.0),
        ("add rax, rbx\nadd rcx, rbx\nadd rdx, rbx", 1.5),  # two ALUs
        ("imul rax, rbx", 3.0),  # the accumulator
        ("imul rbx, rax\nimul rax, rbx", 8.0),  # the other source is needed earlier
        ("mov rax, qword ptr [rax]", 4.0),
        ("add rax, qword ptr [rbx]", 1.0),  # waits for its address early
        ("mov rax, rbx\nadd rax, rcx\nmov rbx, rax", 3.0),
        ("add qword ptr [rsi], rax", 7.0),
        ("mov qword ptr [rsi], rax\nlea rsi, [rsi+8]\nmov rcx, qword ptr [rsi-64]", 1.0),  # stored long ago
        ("mov rax, qword ptr [rsi]\nmov qword ptr [rsi], rax", 6.0),  # only moved on from place to place
        ("mov rax, qword ptr [rsi]\nmov qword ptr [rsi+8], rax\nlea rsi, [rsi+8]", 6.0),
        ("mov qword ptr [rsi], rax\nlea rsi, [rsi+8]\nmov rcx, qword ptr [rdi]", 1.0),  # meet once a page
    ],
)
def test_loops_wait_for_registers_and_memory(text: str, cycles: float) -> None:
    assert cycles_of(small_core(), text) == pytest.approx(cycles, abs=0.01)


def test_eliminated_moves_pass_on_what_they_copy() -> None:
    assert cycles_of(small_core(moves=frozenset({MOVE})), "mov rax, rbx\nadd rax, rcx\nmov rbx, rax") == 1.0


def test_old_values_are_waited_for_where_the_core_does() -> None:
    text = "lea rax, [rbx+8]"
    falsely = {"lea GPR[64]:W, ADDR[B+D8]": {"1": 3.0}}
    assert cycles_of(small_core(), text) == pytest.approx(0.5, abs=0.01)
    assert cycles_of(small_core(false_dependences=falsely), text) == pytest.approx(3.0)


@pytest.mark.parametrize("code", ["ff", "0f0b", "e800000000", "c3", "ebfe", "eb7f", "74fe90"])
def test_what_it_cannot_execute_is_an_error(code: str) -> None:
    with pytest.raises(BlockError):
        small_core().cycles(PLAIN, item_of(bytes.fromhex(code)))


def test_an_instruction_without_known_uops_is_an_error() -> None:
    with pytest.raises(UndescribedSchemeError, match="xor"):
        small_core().cycles(PLAIN, item_of(bytes.fromhex("31c0")))


@given(st.binary(min_size=1, max_size=40), st.booleans())
@examples(100)
def test_any_bytes_are_executed_or_refused(code: bytes, unrolled: bool) -> None:
    with contextlib.suppress(BlockError, UndescribedSchemeError):
        assert SAMPLED.cycles(Frame(pages=8, unrolled=unrolled), item_of(code, 2)) > 0


@pytest.mark.parametrize(
    "model", [CoreModel(), CoreModel(PortMapping(("0",), {ADD: ((1, 1),)}))], ids=["no ports", "no slots"]
)
def test_a_truth_that_cannot_be_executed_is_refused(model: CoreModel) -> None:
    with pytest.raises(InvalidInputError):
        SimulatedCore(X86, model)


def answers(harness: ExecutingHarness, *items: BatchItem) -> list[Result]:
    async def measured() -> list[Result]:
        return await harness.measure(Batch(PLAIN, Settings(), items), lambda *_: None)

    return asyncio.run(measured())


def test_the_code_counts_and_not_the_terms() -> None:
    chained, free = bytes.fromhex("4801c0"), bytes.fromhex("4801d84801d94801da4801de")
    lying = replace(item_of(chained, 20), terms=(("nop", 1),))
    first, second = answers(ExecutingHarness(small_core()), lying, replace(item_of(free, 20), id="b"))
    assert (first.state, first.cycles, first.spread) == ("settled", 1.0, 0.0)
    assert second.cycles == pytest.approx(2.0, abs=0.03)


def test_what_cannot_be_executed_fails_with_a_reason_and_harms_nothing_else() -> None:
    bad, good = item_of(b"\xff"), replace(item_of(bytes.fromhex("4801c0"), 4), id="b")
    first, second = answers(ExecutingHarness(small_core()), bad, good)
    assert (first.state, bool(first.note), second.state) == ("failed", True, "settled")


def test_noise_depends_on_seed_and_code_alone() -> None:
    item = item_of(bytes.fromhex("4801c0"), 4)
    noisy = [answers(ExecutingHarness(small_core(), noise=0.05, seed=seed), item)[0] for seed in (1, 1, 2)]
    assert noisy[0] == noisy[1] != noisy[2]
    assert noisy[0].spread
    with pytest.raises(InvalidInputError):
        ExecutingHarness(small_core(), noise=1.0)


def test_a_seed_gives_one_core() -> None:
    assert sampled_core(X86, 3).identity == SAMPLED.identity != sampled_core(X86, 4).identity
