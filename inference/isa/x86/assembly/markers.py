"""Regions that are marked by IACA's bytes, which OSACA and uiCA use as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inference.isa.code.block import BlockError
from inference.isa.code.pieces import ProgramInstruction

_MARKERS = {bytes.fromhex("bb6f000000"): True, bytes.fromhex("bbde000000"): False}
_MARKER_NOP = bytes.fromhex("646790")
"""IACA's markers are `mov ebx, 111` and `mov ebx, 222`, followed by these bytes."""


def split_regions(
    instructions: Sequence[ProgramInstruction],
) -> tuple[tuple[ProgramInstruction, ...], tuple[str, ...]]:
    """The instructions without IACA's markers, and the regions between them; unchanged without markers."""
    unmarked: list[ProgramInstruction] = []
    regions: list[str] = []
    is_open = False
    number = 0
    while number < len(instructions):
        step = instructions[number]
        is_begin = _MARKERS.get(step.code)
        following = instructions[number + 1].code if number + 1 < len(instructions) else b""
        if is_begin is None or following != _MARKER_NOP:
            unmarked.append(replace(step, regions=frozenset({len(regions) - 1})) if is_open else step)
            number += 1
            continue
        if is_begin == is_open:
            problem = "begins within another one" if is_begin else "ends without having begun"
            raise BlockError(f"the region between IACA's bytes {problem}", step.line)
        if is_begin:
            regions.append("")
        is_open = is_begin
        number += 2
    if is_open:
        raise BlockError("the region between IACA's bytes has no end", unmarked[-1].line if unmarked else 0)
    return tuple(unmarked), tuple(regions)
