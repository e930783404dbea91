"""What the numbers of a column mean: cycles, cycles of a hundred executions, or how often a block ran.

A column with a title holds cycles, or weights where the title is that: what its numbers look like is told,
and changes nothing. Of one without, that is what they are taken for.

BHive's throughput files hold cycles of a hundred executions, its source files the share of a block in what
was executed; neither says so. No processor takes dozens of cycles for every single instruction, nor executes
dozens in one: that tells them apart. The user has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from inference.formats.blocks_csv import WEIGHT, BlockFile, BlockRow, Scale

LOOKED_AT = 5000
"""Rows at the beginning of a file from which the meaning of its numbers is concluded."""
SLOWEST_OF_FAST = 6.0
"""Cycles per instruction that at least one in ten blocks stays below, unless all numbers are ×100.

A hundred executions of the fastest instructions take 100 / 6 ≈ 17 cycles, so even a set of nothing but fast
blocks stands out; of blocks measured in cycles, a tenth without a division or a long chain is always there.
"""
FASTEST = 0.05
"""Cycles per instruction that no block falls below; shares of a large set do, for nearly all blocks."""
_FASTEST_SHARE = 0.1


def scales_of(
    names: Sequence[str], rows: Sequence[BlockRow], *, titled: bool
) -> tuple[tuple[Scale, Scale], ...]:
    """What each column is taken for, and what it looks like."""
    return tuple(_scale(name, position, rows, titled) for position, name in enumerate(names))


def first_rows(file: BlockFile) -> list[BlockRow]:
    """As many rows as are needed to conclude."""
    return list(islice(file.rows(), LOOKED_AT))


def _scale(name: str, position: int, rows: Sequence[BlockRow], titled: bool) -> tuple[Scale, Scale]:
    if name.lower() == WEIGHT:
        return Scale.WEIGHT, Scale.WEIGHT
    alike = _looks(position, rows, titled)
    return Scale.CYCLES if titled else alike, alike


def _looks(position: int, rows: Sequence[BlockRow], titled: bool) -> Scale:
    found = [(row.numbers[position], row.instructions) for row in rows]
    numbers = [(number, length) for number, length in found if number is not None and number > 0]
    if not numbers:
        return Scale.CYCLES
    per_instruction = sorted(number / length for number, length in numbers)
    shares = all(number <= 1 for number, _ in numbers) and sum(number for number, _ in numbers) <= 1.01
    if shares and not titled and per_instruction[0] < FASTEST:
        return Scale.WEIGHT
    fast = per_instruction[int(len(per_instruction) * _FASTEST_SHARE)]
    return Scale.HUNDREDTHS if fast > SLOWEST_OF_FAST else Scale.CYCLES
