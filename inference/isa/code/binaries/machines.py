"""The computers whose compiled programs are read, by their numbers in the headers of files."""

from __future__ import annotations

from typing import NamedTuple

FIELD = 4  # bytes of a displacement


class FileMachine(NamedTuple):
    """A computer in the header of a file.

    Attributes:
        isa: Name of the instruction set.
        elf: pyelftools' name of its number in ELF files.
        mach_o: Its number in Mach-O files.
        from_end: Whether a jump's displacement counts from its end, where the displacement stands as well.
    """

    isa: str
    elf: str
    mach_o: int
    from_end: bool


MACHINES = (
    FileMachine("x86-64", "EM_X86_64", 0x0100_0007, from_end=True),
    FileMachine("AArch64", "EM_AARCH64", 0x0100_000C, from_end=False),
)
EXPECTED = (
    "an object file, an executable or a shared library of "
    f"{' or '.join(machine.isa for machine in MACHINES)} in the format ELF or Mach-O is expected"
)
