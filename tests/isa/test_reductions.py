"""Instructions that accumulate, and those that share a slot with the next."""

from __future__ import annotations

import pytest

from inference.isa.blocks import fused_places, read_blocks, reduction_of


@pytest.mark.parametrize(
    ("code", "accumulators", "is_exact"),
    [
        ("add rax, rbx", ("1",), True),
        ("add rax, qword ptr [rsi]", ("1",), True),
        ("paddd xmm0, xmm1", ("1",), True),
        ("vpaddq ymm0, ymm1, ymm2", ("2", "3"), True),
        ("vsubpd ymm0, ymm0, ymm1", ("2",), False),
        ("addss xmm0, xmm1", ("1",), False),
        ("vfmadd231ps ymm0, ymm1, ymm2", ("1",), False),
        ("vmaxsd xmm0, xmm0, xmm1", ("2", "3"), True),
        ("vfmadd213ps ymm0, ymm1, ymm2", None, None),  # the accumulator is a factor
        ("vdivsd xmm0, xmm0, xmm1", None, None),
        ("add qword ptr [rsi], rax", None, None),
        ("mov rax, rbx", None, None),
        ("adc rax, rbx", None, None),
    ],
)
def test_sums_products_and_extremes_accumulate(
    code: str, accumulators: tuple[str, ...] | None, is_exact: bool | None
) -> None:
    (block,) = read_blocks(code, 1)
    reduction = reduction_of(block.instructions[0])
    assert (reduction and reduction.accumulators, reduction and reduction.is_exact) == (
        accumulators,
        is_exact,
    )


def test_the_places_of_fused_instructions_are_those_of_the_first_ones() -> None:
    (block,) = read_blocks(".L:\nmov rax, rbx\nadd rax, rcx\ncmp rdx, rsi\njne .L", 1)
    move, compare = "mov reg, reg + add reg, reg", "cmp reg, reg + je"
    assert fused_places(block, {move, compare}) == {0, 2}
    assert fused_places(block, {compare}) == {2}
    assert fused_places(block, ()) == frozenset()
    (straight,) = read_blocks("mov rax, rbx\nadd rax, rcx", 1)
    assert fused_places(straight, {move, compare}) == {0}
