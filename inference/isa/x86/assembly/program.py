"""A program: instructions with their machine code, where jumps lead, and the regions marked in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from inference.isa.x86.assembly.errors import BlockError, DroppedLine
from inference.isa.x86.control_flow import CodeStep

_MARKERS = {bytes.fromhex("bb6f000000"): True, bytes.fromhex("bbde000000"): False}
_MARKER_NOP = bytes.fromhex("646790")
"""IACA's markers are `mov ebx, 111` and `mov ebx, 222` with this behind them."""


@dataclass(slots=True)  # frozen ones take three times as long to make
class ProgramInstruction:
    """An instruction: where it stands in the text and in memory, its machine code, and how it goes on.

    `symbols`: the names in it that are taken as 0. `regions`: numbers of the regions that it is in. `count`:
    of a profiler. `labels`: the names of its address. `is_entry`: a function begins with it.
    """

    line: int
    text: str
    step: CodeStep
    labels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    regions: frozenset[int] = frozenset()
    count: float | None = None
    is_entry: bool = False

    @property
    def address(self) -> int:
        """Where it lies."""
        return self.step.address

    @property
    def code(self) -> bytes:
        """Its machine code, that of jumps too."""
        return self.step.code


@dataclass(frozen=True)
class AssemblyProgram:
    """The instructions in the order of the text, what was passed over (how often each), and named regions.

    `remarks`: the lines of text behind a `;` that is no statement. `dropped`: lines that look like code and
    are in no instruction. `notes`: what else the text did not tell, in words.
    """

    instructions: tuple[ProgramInstruction, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[int, ...] = ()
    regions: tuple[str, ...] = ()
    dropped: tuple[DroppedLine, ...] = ()
    notes: tuple[str, ...] = ()


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
