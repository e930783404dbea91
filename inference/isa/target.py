"""What the folder of an instruction set offers: facets, each of which may be missing.

A facet is a module of the folder, or an object, with the functions of its protocol here.
`inference.isa.targets` finds the folder by the instruction set's name; nothing else imports one.
"""

from __future__ import annotations

from typing import Protocol

from inference.isa.code.reader import CodeReader


class BlockReader(CodeReader, Protocol):
    """Basic blocks from machine code and text, and as text again. All raise `BlockError`."""

    GENERAL: list[str]
    """General-purpose registers in the order of their numbers."""

    ASSEMBLY: str
    """Who writes the texts, for the identity of answers that depend on them."""

    def body_of(self, code: bytes) -> bytes:
        """Machine code without the jump that closes a loop; other bytes as they are."""
        ...

    def mnemonics_of(self, code: bytes) -> tuple[str, ...]:
        """The mnemonic of each instruction; many times faster than describing them."""
        ...

    def schemes_of_bytes(self, code: bytes) -> tuple[str | None, ...]:
        """The scheme of each instruction but the jump that closes a loop, None for one of no scheme."""
        ...

    def intel_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions as people read them."""
        ...

    def att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The instructions as the GNU assembler takes them: it makes the very same bytes of them."""
        ...

    def plain_att_of_bytes(self, code: bytes) -> tuple[str, ...]:
        """The same for tools that know instructions alone: other bytes may be made of some."""
        ...

    def in_loop(self, code: bytes) -> bytes:
        """A loop as it is; another block with a counter and a jump behind it."""
        ...

    def between_markers(self, code: bytes) -> bytes:
        """The block between the marks by which analysers find it in a program."""
        ...

    def object_file(self, code: bytes, name: str = "block") -> bytes:
        """A relocatable file with the code as a global function of this name."""
        ...


class IsaTarget:
    """An instruction set by its name, of which nothing else is known."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def blocks(self) -> BlockReader | None:
        """Basic blocks."""
        return None
