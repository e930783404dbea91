"""The sentence that says how long a block takes, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, CoreModel, MemoryTimes
from inference.core.loop.analysis import analyse
from inference.core.loop.values import CycleRange, LoopBound
from inference.features.asking.loop.verdict import number_text, verdict_of
from tests.core.core_model.test_bounds import CORE, IMUL
from tests.core.loop.modelled_blocks import JUMPING, block_of, on_core, random_block, recorded_core

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
