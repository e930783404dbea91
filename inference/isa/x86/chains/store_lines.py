"""Stores alone, each to another cache line than the previous one, over some lines in turn."""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import Instruction, MemoryOperand, Register

from inference.isa.chains import DependencyChain, MemoryChain, MemoryCondition
from inference.isa.x86.chains.chain_maker import encode
from inference.isa.x86.chains.connectors import VECTOR_MOVES, register_of
from inference.isa.x86.chains.renaming import STORES
from inference.isa.x86.holes import GPR64, Hole
from inference.isa.x86.iced_types import CodeValue
from inference.isa.x86.register_choices import LINE

MAX_LINES = 32  # over which stores take turns
_FEW = (1, 2, 4, 8, 12, 16, 24, 32)
"""Lines in turn of stores other than the usual ones."""

_WORD = 8  # bytes
_CODES: dict[int, tuple[CodeValue, Hole]] = {
    **STORES,
    **{width: (VECTOR_MOVES[width][0], VECTOR_MOVES[width][2]) for width in (128, 256, 512)},
}


def store_chains() -> Iterator[MemoryChain]:
    """General-purpose stores over 1 to 32 lines, and over some numbers of lines with two stores per line.

    Stores of other widths go over some numbers of lines. Those of vectors need AVX2 or, for 512 bits,
    AVX-512.
    """
    for width in _CODES:
        for lines in range(1, MAX_LINES + 1) if width == GPR64.width else _FEW:
            yield _stores(width, lines, (0,), MemoryCondition.LINES)
    for lines in _FEW:
        yield _stores(GPR64.width, lines, (0, _WORD), MemoryCondition.LINES_TWICE)


def _stores(width: int, lines: int, offsets: tuple[int, ...], condition: MemoryCondition) -> MemoryChain:
    code, hole = _CODES[width]
    stores = [
        Instruction.create_mem_reg(
            code,
            MemoryOperand(Register.RSI, displ=line * LINE + offset, displ_size=8),
            register_of(hole, 0),
        )
        for line in range(lines)
        for offset in offsets
    ]
    chain = DependencyChain(encode(stores), (), loop=True, instances=len(stores))
    register = "general" if width in STORES else "vector"
    words = f"{lines} {condition}" if lines > 1 else "one cache line"
    return MemoryChain(width, 0, register, words, chain, condition=condition, number=lines)
