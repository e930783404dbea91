"""Comparisons and the jumps behind them that a core makes one instruction of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, FrontEndLimits, predict_core
from inference.core.core_model.blocks import shape_of
from inference.isa.front_end import Aspect
from inference.isa.x86.blocks import Block, read_blocks
from inference.isa.x86.dependences import accesses_of
from inference.isa.x86.front_end import front_end_codes
from inference.isa.x86.fusion import pairs_of
from tests.core.core_model.test_bounds import CORE

LOOP = "top:\nadd rax, rbx\nadd rcx, rbx\nadd rdx, rbx\nadd rsi, rbx\njne top"


def block(code: str) -> Block:
    (found,) = read_blocks(code, 1)
    return found


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("top:\ncmp rax, 5\njne top", "cmp reg, imm + je"),
        ("top:\ncmp qword ptr [rsi], rax\nja top", "cmp mem, reg + jbe"),
        ("top:\ntest eax, eax\njns top", "test reg, reg + js"),
        ("top:\ndec rcx\njg top", "dec reg + jle"),
        ("top:\nimul rax, rbx\njne top", ""),
        ("top:\ncmp qword ptr [rip+64], 5\njne top", ""),
        ("top:\nlock dec qword ptr [rsi]\njne top", ""),
    ],
)
def test_a_pair_is_called_as_it_is_measured(code: str, name: str) -> None:
    assert pairs_of(block(code)) == (name,)
    measured = {one.name for one in front_end_codes(offsets=False) if one.aspect is Aspect.FUSION}
    assert not name or name in measured


@pytest.mark.parametrize(
    ("fused", "slots"),
    [(None, 4), (frozenset(), 5), (frozenset({"add reg, reg + je"}), 4), (frozenset({"dec reg + je"}), 5)],
)
def test_a_fused_jump_takes_no_slot_of_its_own(fused: frozenset[str] | None, slots: int) -> None:
    one = block(LOOP)
    model = replace(CORE, front_end=FrontEndLimits(6.0, taken=1.0, fused=fused))
    found = {each.kind: each.cycles for each in predict_core(accesses_of(one), shape_of(one), model).bounds}
    assert found[BoundKind.SLOTS] == slots / 4
    expected = (5 if fused is None else slots) / 6
    assert found[BoundKind.FRONT_END] == pytest.approx(max(expected, 1.0))


def test_straight_code_has_no_jump_that_counts() -> None:
    assert shape_of(block("cmp rax, 5\nadd rax, rbx")).pairs == ()
