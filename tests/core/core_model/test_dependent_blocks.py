"""A scheduler's policy holds where instructions wait for each other, or the core model has none."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from inference.core.core_model import Assumptions, CoreModel
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.core_model.scheduler_experiments import (
    MAX_BLOCKS,
    dependent_blocks,
    is_port_limited,
    operation_kinds,
)
from inference.core.core_model.scheduler_inference import (
    MIN_BLOCKS,
    CoreSchedulerFinding,
    MeasuredBlock,
    infer_core_scheduler,
)
from inference.isa.blocks import Block, accesses_of, block_of_hex, block_of_text
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.targets import AARCH64, RISCV, X86, target_of
from inference.isa.x86.dependent_blocks import dependent_block
from inference.measuring.simulated_core.sampled import sampled_core
from tests.core.core_model.test_scheduler_inference import CORE, KINDS, MODEL, few_policies, measured_bodies
from tests.measuring.test_scheduled_core import ADD, MULTIPLY

NOISE = 0.005
BLOCKS = dependent_blocks(X86, MODEL, KINDS, seed=1)
PLAIN = CoreModelBlocks(MODEL, Assumptions(in_loop=True))


def by_bounds(block: Block) -> float:
    """A core that wastes nothing where instructions wait for each other."""
    return PLAIN.predict(block).cycles


def by_policy(block: Block) -> float:
    """`CORE`, which wastes everywhere."""
    return max(CORE.cycles_of(accesses_of(block, equal_start=True)), by_bounds(block))


def repeated(cycles: Callable[[Block], float]) -> list[MeasuredBlock]:
    noise = random.Random(3)
    return [
        MeasuredBlock(block, [cycles(block) * noise.gauss(1, NOISE) for _ in range(3)]) for block in BLOCKS
    ]


def finding(blocks: list[MeasuredBlock], *, wastes: bool = True) -> CoreSchedulerFinding:
    """What a search of few policies finds."""
    pulse = few_policies()
    return infer_core_scheduler(MODEL, measured_bodies(wastes=wastes), KINDS, pulse, seed=2, blocks=blocks)


@pytest.mark.parametrize("isa", [AARCH64, RISCV])
def test_blocks_of_every_set_are_drawn_and_read(isa: str) -> None:
    model = sampled_core(isa, 3).model
    kinds = operation_kinds(model, target_of(isa).schemes.schemes())
    blocks = dependent_blocks(isa, model, kinds, seed=1)
    assert len(blocks) >= MIN_BLOCKS
    assert {block.isa for block in blocks} == {isa}


def test_a_policy_that_wastes_everywhere_is_kept_and_right_on_both() -> None:
    found = finding(repeated(by_policy))
    assert found.scheduler is not None, found.reason
    assert found.code is not None
    assert found.code.error < 0.05 < 0.2 < found.code.error_without
    assert found.code.overstated <= 0.1
    assert len(found.blocks) == len(BLOCKS)
    assert sum(block.judges for block in found.blocks) == len(BLOCKS) // 2
    assert all(block.simulated for block in found.blocks)


def test_a_policy_that_wastes_on_independent_mixes_alone_is_none() -> None:
    found = finding(repeated(by_bounds))
    assert found.scheduler is None
    assert found.alternatives == ()
    assert found.code is not None
    assert found.code.error > found.code.error_without
    assert "on blocks with dependences 0.3% without" in found.reason
    assert all(block.simulated for block in found.blocks)


def test_a_core_without_waste_has_none() -> None:
    found = finding(repeated(by_bounds), wastes=False)
    assert found.scheduler is None
    assert "no scheduler explains clearly more than ports and slots alone" in found.reason


def test_too_few_blocks_judge_nothing() -> None:
    found = finding(repeated(by_bounds)[: MIN_BLOCKS - 1])
    assert found.scheduler is not None
    assert (found.blocks, found.code) == ((), None)


def test_blocks_are_limited_by_ports_and_have_instructions_that_wait() -> None:
    assert len({block.hex for block in BLOCKS}) == len(BLOCKS) == MAX_BLOCKS
    assert all(2 <= len(block.instructions) <= 8 for block in BLOCKS)
    assert {scheme for block in BLOCKS for scheme, _ in block.terms} == KINDS.keys()
    for block in BLOCKS:
        assert is_port_limited(block_of_hex(block.hex), MODEL)
    assert not is_port_limited(block_of_text("add rax, rbx\nadd rcx, rdx"), MODEL)  # no dependency
    assert not is_port_limited(block_of_text("imul rax, rbx\nadd rax, rbx"), MODEL)  # a chain takes 4 cycles
    assert is_port_limited(block_of_text("andn rax, rbx, rcx\nandn rdx, rax, rcx"), MODEL)


def test_equal_seeds_draw_equal_blocks() -> None:
    assert dependent_blocks(X86, MODEL, KINDS, seed=1) == BLOCKS
    assert dependent_blocks(X86, MODEL, KINDS, seed=2) != BLOCKS
    assert dependent_blocks(X86, replace(MODEL, mapping=None), KINDS, seed=1) == []
    assert dependent_blocks(X86, CoreModel(), {}, seed=1) == []


def test_an_instruction_has_another_register_for_each_operand() -> None:
    for seed in range(50):
        block = block_of_hex(dependent_block([ADD, MULTIPLY] * 3, random.Random(seed)).hex())
        for one in block.instructions:
            first, second = one.text.partition(" ")[2].split(", ")
            assert first != second
        assert len(set.union(*(set(one.registers) for one in block.instructions))) <= 6


def test_a_scheme_that_cannot_be_measured_is_refused_by_name() -> None:
    with pytest.raises(CannotMeasureError, match="unheard of"):
        dependent_block(["unheard of"], random.Random(1))
