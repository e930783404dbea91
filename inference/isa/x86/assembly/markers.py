"""The bytes by which IACA, and OSACA and uiCA after it, have regions marked in a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inference.isa.code.block import BlockError
from inference.isa.code.pieces import ProgramInstruction

_MARKERS = {bytes.fromhex("bb6f000000"): True, bytes.fromhex("bbde000000"): False}
_MARKER_NOP = bytes.fromhex("646790")
"""IACA's markers are `mov ebx, 111` and `mov ebx, 222` with this behind them."""


def between_markers(
    instructions: Sequence[ProgramInstruction],
) -> tuple[tuple[ProgramInstruction, ...], tuple[str, ...]]:
    """Without IACA's markers, and the regions between them; unchanged where there are none."""
    found: list[ProgramInstruction] = []
    regions: list[str] = []
    is_open = False
    number = 0
    while number < len(instructions):
        one = instructions[number]
        begins = _MARKERS.get(one.code)
        following = instructions[number + 1].code if number + 1 < len(instructions) else b""
        if begins is None or following != _MARKER_NOP:
            found.append(replace(one, regions=frozenset({len(regions) - 1})) if is_open else one)
            number += 1
            continue
        if begins == is_open:
            what = "begins within another one" if begins else "ends without having begun"
            raise BlockError(f"the region between IACA's bytes {what}", one.line)
        if begins:
            regions.append("")
        is_open = begins
        number += 2
    if is_open:
        raise BlockError("the region between IACA's bytes has no end", found[-1].line if found else 0)
    return tuple(found), tuple(regions)
