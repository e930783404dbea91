"""The branch of a loop in a port mapping: its own µops, one with the comparison, or a slot."""

from __future__ import annotations

import pytest

from inference.core.core_model.prediction import SLOT, LoopBranch, jump_schemes, loop_branch
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from inference.isa.blocks import block_of_hex
from inference.predictors.mapping import iteration_terms, with_branch_slot

ADD, CMP = "add GPR[64]:RW, GPR[64]:R", "cmp GPR[64]:R, GPR[64]:R"
JNE = "jne REL[8]"
STRAIGHT = block_of_hex("4801d84839c8")
LOOP = block_of_hex("4801d84839c875f8")  # add rax, rbx; cmp rax, rcx; jne
MEMORY = block_of_hex("4801d8483b0775f8")  # cmp rax, [rdi]
PAIR = "cmp reg, reg + je"
IN_MEMORY = "cmp reg, mem + je"
UNCONDITIONAL = block_of_hex("4801d8ebfb")


@pytest.mark.parametrize(
    ("block", "described", "fused", "counted"),
    [
        (STRAIGHT, {ADD, CMP, JNE}, {PAIR}, None),
        (LOOP, {ADD, CMP}, None, LoopBranch(SLOT)),
        (LOOP, {ADD, CMP}, set(), LoopBranch(SLOT)),
        (LOOP, {ADD, CMP}, {PAIR}, LoopBranch("")),
        (LOOP, {ADD, CMP, JNE}, None, LoopBranch(JNE)),
        (LOOP, {ADD, CMP, "jne REL[32]"}, None, LoopBranch("jne REL[32]")),
        (LOOP, {ADD, CMP, JNE}, {PAIR}, LoopBranch(JNE, CMP)),
        (MEMORY, {ADD, JNE}, {IN_MEMORY}, LoopBranch("")),
        (UNCONDITIONAL, {ADD}, {PAIR}, LoopBranch(SLOT)),
        (UNCONDITIONAL, {ADD, "jmp REL[8]"}, {PAIR}, LoopBranch("jmp REL[8]")),
    ],
)
def test_a_branch_counts_as_far_as_it_is_known(block, described, fused, counted) -> None:
    assert loop_branch(block, described, fused) == counted


def test_an_iteration_has_its_branch() -> None:
    assert iteration_terms(STRAIGHT, None) == {ADD: 1, CMP: 1}
    assert iteration_terms(LOOP, LoopBranch(SLOT)) == {ADD: 1, CMP: 1, SLOT: 1}
    assert iteration_terms(LOOP, LoopBranch("")) == {ADD: 1, CMP: 1}
    assert iteration_terms(LOOP, LoopBranch(JNE, CMP)) == {ADD: 1, JNE: 1}
    assert jump_schemes(STRAIGHT) == ()
    assert jump_schemes(LOOP) == ("jne REL[8]", "jne REL[32]")


def test_a_jump_of_unknown_ports_takes_a_slot() -> None:
    mapping = with_branch_slot(PortMapping(("0", "1"), {ADD: ((3, 1),), CMP: ((3, 1),)}, r_max=2.0))
    assert inverse_throughput(mapping, Experiment.of({ADD: 1, CMP: 1})) == 1.0
    assert inverse_throughput(mapping, Experiment.of({ADD: 1, CMP: 1, SLOT: 1})) == 1.5
    assert mapping.usage[SLOT] == ()
