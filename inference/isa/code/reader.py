"""What reading of pasted texts and of compiled programs needs of an instruction set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from inference.isa.code.block import Block
from inference.isa.code.control_flow import CodeStep
from inference.isa.code.program import AssemblyProgram


class CodeReader(Protocol):
    """Decodes machine code and reads assembly. All raise `BlockError`."""

    def block_of_bytes(self, code: bytes) -> Block:
        """The block of machine code."""
        ...

    def steps_of(self, code: bytes) -> list[CodeStep]:
        """The instructions of machine code, jumps among them."""
        ...

    def steps_of_region(self, code: bytes, address: int) -> Iterator[CodeStep]:
        """The same of any bytes: what is no instruction ends a path, and what follows is tried then."""
        ...

    def closed(self, body: bytes, jump: bytes) -> bytes | None:
        """The body with a jump of this one's condition back to its first byte, as short as can be.

        None where such a jump cannot lead so far.
        """
        ...

    def listed_program(
        self, lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]
    ) -> AssemblyProgram | None:
        """The program of a listing; None where the lines, each with its number, are none.

        `is_foreign`: whether a line is code of another instruction set, and no heading or the like.
        """
        ...

    def paragraph_reader(
        self, is_foreign: Callable[[str], bool]
    ) -> Callable[[list[str], int], AssemblyProgram]:
        """Reads (lines, number of the first) of the paragraphs of one text, in their order."""
        ...
