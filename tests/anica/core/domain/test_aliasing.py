"""Which operands alias, and the rule that constraints count only where operands exist and match."""

from __future__ import annotations

import pytest

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import Aliasing
from anica_app.core.domain.space import SchemeSpace
from inference.isa.blocks import block_of_text
from inference.isa.operand_slots import OperandPlace

DOMAIN = BlockDomain(
    SchemeSpace.listed(
        [
            "mov GPR[8]:W, GPR[8]:R",
            "mov GPR[8h]:W, GPR[8]:R",
            "mov GPR[64]:W, GPR[64]:R",
            "mov GPR[32]:W, GPR[32]:R",
            "mov GPR[64]:W, MEM[64]:R",
            "mov MEM[32]:W, GPR[32]:R",
            "lea GPR[64]:W, ADDR[B+I]",
            "shl GPR[32]:RW, cl:R",
            "movsq MEM[64,rdi]:W, MEM[64,rsi]:R",
            "vaddps XMM:W, XMM:R, XMM:R",
            "vaddps YMM:W, YMM:R, MEM[256]:R",
            "vaddps ZMM{k}:RW, ZMM:R, ZMM:R",
            "vgatherdps XMM:RW, MEM[32,XMM]:R, XMM:RW",
            "nop",
        ]
    )
)


def said(text: str) -> set[str]:
    block = DOMAIN.block_of_code(block_of_text(text).code)
    assert block is not None, DOMAIN.obstacle(block_of_text(text).code)
    return {" ".join(row) for row in DOMAIN.document(DOMAIN.represent(block))["aliasing"]}


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("mov rax, rbx", {"1.register.1 1.register.2 different"}),
        ("mov al, al", {"1.register.1 1.register.2 same"}),
        ("mov ah, al", set()),
        ("vaddps xmm1, xmm2, xmm1", {
            "1.register.1 1.register.2 different", "1.register.1 1.register.3 same",
            "1.register.2 1.register.3 different",
        }),
        ("lea rax, [rbx + rax]", {
            "1.register.1 1.register.2 different", "1.register.1 1.register.3 same",
            "1.register.2 1.register.3 different",
        }),
        ("movsq", set()),
        ("nop", set()),
        ("shl ecx, cl", {"1.register.1 1.register.2 same"}),
    ],
)  # fmt: skip
def test_one_instruction_says_what_its_own_operands_have_in_common(text: str, pairs: set[str]) -> None:
    assert said(text) == pairs


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("mov rax, rbx\nmov eax, edx", "1.register.1 2.register.1 same"),
        ("mov rax, rbx\nmov ah, dl", "1.register.1 2.register.1 same"),
        ("mov rax, rbx\nshl eax, cl", "1.register.2 2.register.2 different"),
        ("mov rcx, rbx\nshl eax, cl", "1.register.1 2.register.2 same"),
        ("vaddps xmm1, xmm2, xmm3\nvaddps ymm4, ymm1, [rsi]", "1.register.1 2.register.2 same"),
        ("mov rax, [rsi+8]\nmov [rsi+8], ecx", "1.memory.1 2.memory.1 same"),
        ("mov rax, [rsi+8]\nmov [rsi+4], ecx", "1.memory.1 2.memory.1 different"),
        ("mov rax, [rsi+8]\nmov [rdi+8], ecx", "1.memory.1 2.memory.1 different"),
        ("mov rax, [rsi]\nmovsq", "1.memory.1 2.memory.2 same"),
        ("mov rax, [rsi]\nmovsq", "1.memory.1 2.memory.1 different"),
        ("mov rax, [rsi+8*rcx]\nmov [rsi+8*rcx], edx", "1.memory.1 2.memory.1 same"),
        ("vaddps zmm1 {k2}, zmm2, zmm3\nvaddps zmm4 {k2}, zmm2, zmm3", "1.register.4 2.register.4 same"),
    ],
)
def test_two_instructions_say_what_their_operands_have_in_common(text: str, pair: str) -> None:
    assert pair in said(text)


def test_registers_of_two_kinds_and_memory_of_two_kinds_do_not_match() -> None:
    assert not [
        one for one in said("mov rax, rbx\nvaddps xmm0, xmm0, xmm3") if "1.reg" in one and "2.reg" in one
    ]
    pairs = said("vgatherdps xmm1, [rsi+xmm2], xmm3\nmov rax, [rsi]")
    assert not [one for one in pairs if "memory" in one]


def test_a_constraint_counts_only_where_both_operands_are_there_and_match() -> None:
    pair = (OperandPlace(0, "register", 0), OperandPlace(1, "register", 2))
    same = Aliasing(must=frozenset({pair}))
    for text, holds in (
        ("mov rax, rbx\nmov rcx, rdx", True),  # there is no third register
        ("mov rax, rbx\nvaddps xmm1, xmm2, xmm3", True),  # which is of another kind
        ("mov rax, rbx\nlea rcx, [rdx + rax]", True),
        ("mov rax, rbx\nlea rcx, [rax + rdx]", False),
    ):
        block = DOMAIN.block_of_code(block_of_text(text).code)
        assert block is not None
        operands = [(DOMAIN.space.slots[one.scheme], one.contents) for one in block.instructions]
        assert same.holds(operands) is holds
