"""NOPs that share a slot with what stands beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, CodeShape, FrontEndLimits, predict_core
from inference.isa.blocks import accesses_of
from tests.core.core_model.small_core import CORE, block


@pytest.mark.parametrize(
    ("code", "nops", "cycles"),
    # Measured on a Zen 4: twelve NOPs in a cycle, six of other instructions, and no NOP with an addition.
    [
        ("mov rdi, rbp\nnop dword ptr [rax]", 12.0, 1 / 6),
        ("mov rdi, rbp\nnop dword ptr [rax]", 6.0, 2 / 6),
        ("mov rdi, rbp\nnop dword ptr [rax]", None, 2 / 6),
        ("nop\nmov rdx, r13\nmov rsi, r14\nmov rdi, r15", 12.0, 3 / 6),
        ("nop\nnop\nnop\nmov rdx, r13", 12.0, 2 / 6),
        ("nop", 12.0, 1 / 12),
        ("nop\nadd rdx, r13", 12.0, 2 / 6),
        ("nop\nnop\nadd rdx, r13\nadd rsi, r14", 12.0, 3 / 6),
        ("nop\nadd rdx, r13\nadd rsi, r14\nnop", 12.0, 3 / 6),
        ("nop\nadd rdx, r13\nnop\nmov rsi, r14", 12.0, 3 / 6),
    ],
)
def test_a_nop_shares_a_slot_where_more_of_them_pass_than_of_others(
    code: str, nops: float | None, cycles: float
) -> None:
    assert CORE.mapping is not None
    usage = {**CORE.mapping.usage, "nop": (), "nop MEM[32]": ()}
    mapping = replace(CORE.mapping, usage=usage, r_max=6.0, issue_width=None)
    core = replace(CORE, mapping=mapping, front_end=FrontEndLimits(slots=6.0, nops=nops))
    one = block(code)
    found = predict_core(accesses_of(one), CodeShape(len(one.code), loop=False, copied=True), core)
    by_kind = {each.kind: each.cycles for each in found.bounds}
    assert by_kind[BoundKind.INSTRUCTIONS] == pytest.approx(cycles)
    assert by_kind[BoundKind.FRONT_END] == pytest.approx(cycles)
