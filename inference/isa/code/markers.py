"""Regions that are marked by instructions: IACA's, which OSACA and uiCA use as well, or OSACA's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from inference.isa.code.block import BlockError
from inference.isa.code.pieces import ProgramInstruction


class RegionMarkers(NamedTuple):
    """The code of the instructions that begin and end a region; one of `padding` follows each."""

    begin: bytes
    end: bytes
    padding: Collection[bytes]


def split_regions(
    instructions: Sequence[ProgramInstruction], markers: RegionMarkers
) -> tuple[tuple[ProgramInstruction, ...], tuple[str, ...]]:
    """The instructions without markers, and the regions between them; unchanged without markers."""
    kinds = {markers.begin: True, markers.end: False}
    unmarked: list[ProgramInstruction] = []
    regions: list[str] = []
    is_open = False
    number = 0
    while number < len(instructions):
        step = instructions[number]
        is_begin = kinds.get(step.code)
        following = instructions[number + 1].code if number + 1 < len(instructions) else b""
        if is_begin is None or following not in markers.padding:
            unmarked.append(replace(step, regions=frozenset({len(regions) - 1})) if is_open else step)
            number += 1
            continue
        if is_begin == is_open:
            problem = "begins within another one" if is_begin else "ends without having begun"
            raise BlockError(f"the region between the markers {problem}", step.line)
        if is_begin:
            regions.append("")
        is_open = is_begin
        number += 2
    if is_open:
        raise BlockError("the region between the markers has no end", unmarked[-1].line if unmarked else 0)
    return tuple(unmarked), tuple(regions)
