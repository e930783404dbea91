"""A program: instructions with their machine code, where jumps lead, and the regions marked in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inference.isa.code.control_flow import CodeStep
from inference.isa.code.errors import DroppedLine


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
