"""Registers and memory of AArch64 loop bodies; see `inference.isa.words.allocation`.

Operands limited to v0 to v15 are read-only, and so are lists of registers for `tbl`. A pre- or post-indexed
access moves its base by 0 bytes, which costs as much as any other move but keeps the address. Other accesses
do not wait for that: they have bases of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.isa.words.allocation import (
    LOAD_BASE,
    STORE_BASE,
    OperandDemands,
    WordAllocator,
    addresses_of_bases,
    partition,
    partition_bases,
)

MEMORY, COUNTER = 27, 28
GENERAL_NUMBERS = tuple(range(18))  # x18 is the platform's
_BASES = {LOAD_BASE: (19, 20, 21, 22, 29), STORE_BASE: (23, 24, 25, 26, 30)}

VALUES = {f"x{number}": (16, 32, 48)[number % 3] for number in GENERAL_NUMBERS}
"""As an index, scaled or not, each value keeps an access within a line and within its area."""

ADDRESSES = addresses_of_bases(_BASES)
"""Offsets of the base registers from the middle of the memory region."""


class AArch64Allocator(WordAllocator):
    """Chooses from 18 general-purpose registers and all vector registers."""

    def __init__(self, copy: Sequence[OperandDemands]) -> None:
        """`copy`: the schemes of one copy, which is repeated. Raises `WordAllocationError`."""
        registers = {
            **partition("general", GENERAL_NUMBERS, copy),
            **partition("vector", tuple(range(32)), copy),
            **partition_bases(_BASES, copy),
        }
        super().__init__(copy, registers)
