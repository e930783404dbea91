"""The sentence that says how long a block takes, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, CoreModel, MemoryTimes
from inference.core.experiment import Experiment
from inference.core.loop.analysis import analyse
from inference.core.loop.values import CycleRange, LoopBound
from inference.core.throughput import inverse_throughput
from inference.features.asking.loop.verdict import number_text, verdict_of
from inference.isa.blocks import accesses_of
from tests.core.core_model.small_core import CORE, IMUL
from tests.core.loop.modelled_blocks import (
    JUMPING,
    RECORDED_CORES,
    block_of,
    on_core,
    random_block,
    recorded_core,
)

WITHOUT_IMUL = replace(
    CORE, latencies={text: pairs for text, pairs in CORE.latencies.items() if text != IMUL}
)
STORES = replace(CORE, memory=MemoryTimes({(64, 64, 0, False): 4.0}, to_one_line=3.0, to_another_line=3.0))
LOADED_MULTIPLICATION = "mov rax, qword ptr [rsi]\nimul rax, rbx\nmov qword ptr [rsi], rax"


def verdict(code: str, model: CoreModel = CORE, *, nearest: bool = False) -> str:
    block = block_of(code)
    return verdict_of(block, analyse(on_core(block, model, nearest=nearest)))


@pytest.mark.parametrize(
    ("code", "model", "sentence"),
    [
        (
            "imul rax, rbx\nadd rax, rcx",
            CORE,
            "4.0 cycles: `imul` → `add` wait for each other; ports are at 25 %.",
        ),
        ("imul rax, rbx", CORE, "3.0 cycles: `imul` waits for its own result in rax; ports are at 33 %."),
        (
            LOADED_MULTIPLICATION,
            CORE,
            "7.0 cycles: `mov` → `imul` → `mov` wait for each other through memory; ports are at 14 %.",
        ),
        (
            "imul rax, rbx\nimul rcx, rbx\nimul rdx, rbx\nimul rsi, rbx",
            CORE,
            "4.0 cycles: 4 × `imul` fill port 0; dependencies are at 75 %.",
        ),
        (
            "add rax, rbx\nadd rcx, rbx\nadd rdx, rbx",
            CORE,
            "1.5 cycles: 3 × `add` fill ports 0 and 1; dependencies are at 67 %.",
        ),
        (
            ".L: xor rax, rax\njmp .L",
            CORE,
            "1.0 cycles: the front end, one taken branch; issue slots are at 25 %.",
        ),
        (
            "mov qword ptr [rdi], rax",
            STORES,
            "3.0 cycles: the first-level cache, 1 store to one cache line; ports are at 33 %.",
        ),
        (
            "imul rax, rbx\nadd rax, rcx",
            WITHOUT_IMUL,
            "At least 2.0 cycles: `imul` → `add` wait for each other; the latency of `imul` is not measured.",
        ),
        (
            "add rax, rbx\npopcnt rdx, rax",
            CORE,
            "At least 1.0 cycles: `add` waits for its own result in rax; `popcnt` is not measured.",
        ),
    ],
)
def test_each_kind_of_bound_has_its_sentence(code: str, model: CoreModel, sentence: str) -> None:
    assert verdict(code, model) == sentence


def test_what_rests_on_another_scheme_is_about_so_many_cycles() -> None:
    text = verdict("imul eax, ebx", nearest=True)
    assert text.startswith("About 3.0 cycles: `imul` waits for its own result in rax;")
    assert text.endswith("latency of `imul` as of the nearest scheme.")


DIVISION = "vdivpd YMM:W, YMM:R, YMM:R"
DIVIDING = replace(CORE, alone={DIVISION: 5.0})
QUICK_DIVISION = replace(
    CORE,
    mapping=replace(CORE.mapping, usage={**CORE.mapping.usage, DIVISION: ((0b01, 5),)}),
    latencies={**CORE.latencies, DIVISION: {("2", "1"): 13.0, ("3", "1"): 13.0}},
)


@pytest.mark.parametrize(
    ("code", "model", "sentence"),
    [
        (
            "vdivpd ymm0, ymm1, ymm2",
            DIVIDING,
            "About 5.0 cycles with the values measured: `vdivpd` takes 5.00 alone; the ports of `vdivpd` are "
            "not known.",
        ),
        (
            "vdivpd ymm0, ymm1, ymm2\nimul rax, rbx\nimul rax, rbx",
            DIVIDING,
            "At least 6.0 cycles: `imul` → `imul` wait for each other; the ports of `vdivpd` are not known; "
            "the time of `vdivpd` depends on the values.",
        ),
        (
            "vdivpd ymm0, ymm1, ymm2",
            QUICK_DIVISION,
            "About 5.0 cycles with the values measured: `vdivpd` fills port 0; issue slots are at 5 %.",
        ),
        (
            "vdivpd ymm0, ymm0, ymm2",
            QUICK_DIVISION,
            "13.0 cycles with the quickest values: `vdivpd` waits for its own result in xmm0; ports are at "
            "38 %.",
        ),
    ],
)
def test_a_time_that_depends_on_values_is_no_least_one(code: str, model: CoreModel, sentence: str) -> None:
    assert verdict(code, model) == sentence


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("core", RECORDED_CORES)
def test_at_least_is_never_more_than_what_is_measured_later(seed: int, core: str) -> None:
    """For each scheme of a block that a core model lacks but for its time alone, which was measured with slow
    values: what the complete model says is not below what the verdict says at least.
    """
    block, whole = random_block(seed), recorded_core(core)
    assert whole.mapping is not None
    complete = analyse(on_core(block, whole))
    by_values = {access.scheme for access in accesses_of(block) if access.by_values}
    for scheme in {row.scheme for row in complete.instructions} & whole.mapping.usage.keys():
        alone = inverse_throughput(whole.mapping, Experiment.of([scheme]))
        mapping = replace(
            whole.mapping,
            usage={text: uops for text, uops in whole.mapping.usage.items() if text != scheme},
            slots={text: count for text, count in whole.mapping.slots.items() if text != scheme},
        )
        latencies = {text: pairs for text, pairs in whole.latencies.items() if text != scheme}
        slow = {scheme: alone * (3 if scheme in by_values else 1)}
        lesser = replace(whole, mapping=mapping, latencies=latencies, alone={**whole.alone, **slow})
        for nearest in (False, True):
            found = analyse(on_core(block, lesser, nearest=nearest))
            sentence = verdict_of(block, found)
            if sentence.startswith("At least"):
                assert found.cycles.low <= complete.usual + 1e-3, (scheme, sentence)
                assert float(sentence.split()[2]) <= complete.usual + 0.05


def test_a_closed_range_is_said_with_both_ends() -> None:
    block = block_of("add rax, rbx")
    found = analyse(on_core(block, CORE))
    ranged = replace(found, cycles=CycleRange(0.5, 1.0))
    assert verdict_of(block, ranged).startswith("0.50 to 1.0 cycles: ")


def test_without_bounds_or_anything_known_it_says_so() -> None:
    block = block_of("add rax, rbx")
    found = analyse(on_core(block, CORE))
    assert verdict_of(block, replace(found, bounds=())) == "Nothing is known: all bounds are left out."
    nothing = (LoopBound(BoundKind.PORTS, CycleRange(0.0, None), 0.0, ""),)
    unknown = replace(found, bounds=nothing, cycles=CycleRange(0.0, None), usual=0.0)
    assert verdict_of(block, unknown).startswith("The cycles are not known")


def test_of_a_long_chain_the_ends_are_named() -> None:
    text = verdict("imul rax, rbx\n" + "add rax, rcx\n" * 9)
    assert "`imul` → `add` → `add` → … → `add` (10 steps) wait for each other" in text


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    "model", [CORE, JUMPING, recorded_core(), CoreModel()], ids=["toy", "fused", "zen4", "none"]
)
def test_every_analysis_has_one_sentence(seed: int, model: CoreModel) -> None:
    block = random_block(seed)
    text = verdict_of(block, analyse(on_core(block, model, nearest=True)))
    assert text.endswith(".")
    assert "\n" not in text
    assert text.count("`") % 2 == 0
    assert "None" not in text


@pytest.mark.parametrize(("cycles", "text"), [(0.25, "0.25"), (0.999, "1.0"), (3.96, "4.0"), (120.4, "120")])
def test_cycles_have_two_digits(cycles: float, text: str) -> None:
    assert number_text(cycles) == text
