"""Registers and memory of RISC-V loop bodies; see `inference.isa.words.allocation`.

No instruction reads and writes the same floating-point register, so a few are only read and all others only
written. Numbers of 16, 32 and 64 bits are read from registers of their own: the frame fills them with numbers
of that width, which are boxed (the bits above are ones); others would count as NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.isa.document import OperandForm
from inference.isa.words.accesses import VECTOR
from inference.isa.words.allocation import (
    LOAD_BASE,
    STORE_BASE,
    OperandChoice,
    OperandDemands,
    Partition,
    WordAllocationError,
    WordAllocator,
    addresses_of_bases,
    partition,
    partition_bases,
)

MEMORY, COUNTER = 26, 27
SETTING_TARGET = 9
"""The register that `vsetvli` writes; it is no operand."""

GENERAL = (1, *range(5, 9), *range(10, 18), *range(28, 32))  # without zero, the stack pointer, gp, tp
_BASES = {LOAD_BASE: (18, 19, 20, 21), STORE_BASE: (22, 23, 24, 25)}

VALUES = {f"x{number}": (16, 32, 48)[number % 3] for number in GENERAL}
"""Small numbers, by which shifts keep some bits."""

ADDRESSES = addresses_of_bases(_BASES)
"""Offsets of the base registers from the middle of the memory region."""

_READ = {64: (0, 1, 2), 32: (3, 4, 5), 16: (6, 7, 8)}
"""{bits of a floating-point number: registers that are only read}."""

_WRITTEN = tuple(range(9, 32))
_GROUPS = (2, 4, 8)
"""Numbers of vector registers in a group, whose first number is a multiple of it."""

BOXED = {32: 0xFFFFFFFF_3F8CCCCD, 16: 0xFFFFFFFF_FFFF3C66}
"""{bits: the register's bits}, floats of 1.1; those of 64 bits have the frame's pattern."""

_VECTORS = (*range(8, 32), *range(1, 8))
"""v0 is the mask. The first ones are those where groups of 8 registers begin."""

VECTOR_PATTERNS = {"v0": 2**64 - 1, **{f"v{number}": 0x3F8CCCCD_3F8CCCCD for number in _VECTORS}}
"""All elements take part; numbers of 16, 32 and 64 bits are normal floats."""

PATTERNS = {f"f{number}": pattern for bits, pattern in BOXED.items() for number in _READ[bits]}
_FLOATING: Partition = {
    **{(f"float {bits}", "R"): numbers for bits, numbers in _READ.items()},
    **{(f"float {bits}", "W"): _WRITTEN for bits in _READ},
}


def bank_of(form: OperandForm) -> str:
    """The registers of an operand: floating-point ones by width."""
    return f"float {form.width}" if form.bank == "float" else form.bank


class RiscvAllocator(WordAllocator):
    """Chooses from 17 general-purpose registers, all floating-point registers, and vectors but v0."""

    def __init__(self, copy: Sequence[OperandDemands]) -> None:
        """`copy`: the schemes of one copy, which is repeated. Raises `WordAllocationError`."""
        general, bases = partition("general", GENERAL, copy), partition_bases(_BASES, copy)
        vectors = partition(VECTOR, _VECTORS, copy)
        super().__init__(copy, {**_FLOATING, **general, **bases, **vectors})

    def _fitting_registers(self, choice: OperandChoice) -> tuple[int, ...]:
        firsts = super()._fitting_registers(choice)
        if choice.bank != VECTOR or choice.span not in _GROUPS:
            return firsts
        aligned = tuple(first for first in firsts if first % choice.span == 0)
        if not aligned:
            raise WordAllocationError("the vector registers do not suffice")
        return aligned
