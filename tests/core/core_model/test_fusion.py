"""Comparisons and the jumps behind them that a core makes one instruction of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import BoundKind, FrontEndLimits, predict_core
from inference.core.core_model.prediction import shape_of
from inference.core.front_end import read_front_end
from inference.core.mapping import PortMapping
from inference.isa.blocks import Block, accesses_of, block_of_bytes, moves_of, pairs_of, read_blocks
from inference.isa.front_end import Aspect, TimedCode
from inference.isa.x86.front_end import front_end_codes
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from tests.core.core_model.small_core import ADD, CORE, MOV

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


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("mov rax, rcx\nadd rax, rdx", ("mov reg, reg + add reg, reg",)),
        ("mov eax, ecx\nshl eax, 5\nnot eax", ("mov reg, reg + shl reg, imm",)),
        ("add rax, rdx\nmov rax, rcx", ("mov reg, reg + add reg, reg",)),  # of the next copy
        ("mov rax, rcx\nadd rdx, rax", ()),
        ("mov rax, rcx\nadd rax, rax", ()),
        ("mov ax, cx\nadd ax, dx", ()),
        ("mov rax, rcx\nadd eax, edx", ()),
        ("mov rax, 5\nadd rax, rdx", ()),
        ("top:\nmov rax, rcx\nsub rax, rdx\njne top", ()),  # the jump's
    ],
)
def test_a_move_and_an_operation_on_its_copy_are_called_as_they_are_measured(
    code: str, names: tuple[str, ...]
) -> None:
    assert moves_of(block(code)) == names
    measured = {one.name for one in front_end_codes(offsets=False) if one.aspect is Aspect.MOVE}
    assert {*names} <= measured


def test_all_pairs_of_a_move_that_are_measured_are_known_by_their_code() -> None:
    for one in front_end_codes(offsets=False):
        if one.aspect is Aspect.MOVE:
            assert (one.name in moves_of(block_of_bytes(one.code.code))) == bool(one.value), one.name


ZEN5 = SimulatedFrontEnd(slots=8, moved=frozenset({"add"}))
SIX = "\n".join(f"mov r{8 + k}, rax\nadd r{8 + k}, rbx" for k in range(6))


def measured_pairs(core: SimulatedFrontEnd) -> frozenset[str]:
    codes = front_end_codes(offsets=False)
    timed = zip(codes, core.time([one.code for one in codes]), strict=True)
    front_end = read_front_end((one, reading.cycles) for one, reading in timed if reading.cycles is not None)
    assert front_end.number("moved").value == sum(pair.is_fused for pair in front_end.moves)
    return frozenset(pair.name for pair in front_end.moves if pair.is_fused)


@pytest.mark.parametrize("core", [ZEN5, replace(ZEN5, moved=frozenset())])
def test_a_move_takes_no_slot_where_the_core_was_measured_to_join_it(core: SimulatedFrontEnd) -> None:
    """Six pairs take a cycle on a Zen 5, which has six ports for additions and dispatches eight."""
    one = block(SIX)
    mapping = PortMapping(tuple("012345"), {ADD: ((0b111111, 1),), MOV: ()}, r_max=8.0, issue_width=8.0)
    front_end = FrontEndLimits(slots=8.0, taken=1.0, fused=measured_pairs(core))
    model = replace(CORE, mapping=mapping, front_end=front_end)
    predicted = predict_core(accesses_of(one), shape_of(one, in_loop=True), model).cycles
    (timed,) = core.time([TimedCode(one.code, 12, loop=True)])
    assert timed.cycles is not None
    assert predicted == pytest.approx(max(timed.cycles, 1.0), rel=0.03)
    assert predicted == pytest.approx(1.0 if core.moved else 1.5, rel=0.02)
