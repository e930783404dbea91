"""The changes of a block that tell why tools disagree about it.

A steady state waits for nothing but what goes from one execution of the block to the next: through a
register, the flags, a place in memory. Each of these ways, a *carrier*, can be cut by an instruction that
writes it anew and reads nothing that the block writes. The instruction stands once before several copies of
the block, so that its own cost hardly counts. Where a tool waits in each copy anew, that cuts too little:
then it stands before each instruction that reads what it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

COPIES = 4
"""Copies of the block behind what cuts."""
NOPS = 4
"""Instructions that only take room, for so many copies."""


class CarrierRole(StrEnum):
    """What the block does with a carrier."""

    ACCUMULATOR = "accumulator"
    """One instruction both reads and writes it."""
    RESULT = "result"
    """Nothing reads it: whoever waits for it takes a write for a read."""
    BETWEEN = "between"
    """One instruction reads it, and whatever writes it is another one."""


class CarrierKind(StrEnum):
    """Through what an execution of a block waits for the one before."""

    REGISTER = "register"
    FLAGS = "flags"
    MEMORY = "memory"
    STACK = "stack pointer"


@dataclass(frozen=True, slots=True)
class Carrier:
    """A register or a place in memory that a block writes, or flags that it touches; `name` for the reader.

    `instructions`: which ones write it, from 0; none where it only reads flags, which some processors take to
    be written by a shift by 0.
    """

    kind: CarrierKind
    name: str
    role: CarrierRole
    instructions: tuple[int, ...] = ()


class ChangeKind(StrEnum):
    """What is done to the block."""

    REPEATED = "repeated"
    CUT_ALL = "all dependencies cut"
    CUT = "one dependency cut"
    CUT_EVERYWHERE = "all dependencies cut in each copy"
    CUT_ONE_EVERYWHERE = "one dependency cut in each copy"
    PADDED = "padded"
    UNLOCKED = "lock prefixes left out"
    LOADS_FIRST = "loads before stores"
    REGISTERS = "registers in place of loads"


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A changed block, to be asked about: `code` has `copies` of it. `cut`: the carriers that are cut."""

    kind: ChangeKind
    code: bytes
    copies: int
    cut: tuple[Carrier, ...] = ()


class ChangedBlock(Protocol):
    @property
    def copies(self) -> int:
        """Copies of the block in each change."""

    @property
    def carriers(self) -> tuple[Carrier, ...]: ...

    def first(self) -> list[BlockChange]:
        """The changes to be tried with every block; without carriers there is nothing to be cut."""

    def each(self) -> list[BlockChange]:
        """One carrier cut at a time; () where there is but one."""

    def everywhere(self) -> list[BlockChange]:
        """Whatever goes through registers and flags cut before each instruction that reads it."""

    def each_everywhere(self) -> list[BlockChange]:
        """One of these at a time; () where there is but one."""

    def parted(self) -> list[BlockChange]:
        """The copies with their loads before their stores, where there is a difference; none where not."""

    def in_registers(self) -> list[BlockChange]:
        """The copies with registers in place of what they load; none where that cannot be, or cuts more."""

    def cut(self, carriers: Sequence[Carrier], kind: ChangeKind) -> BlockChange:
        """The copies of the block behind what writes these carriers anew."""


APART = 128
"""Bytes between two offsets: more than any operand has, and another cache line."""


class Memory(StrEnum):
    """How the addresses of a variant relate to each other."""

    SAME = "same address"
    OFFSET = "other offset"
    BASE = "other base"


@dataclass(frozen=True)
class Variants:
    """The machine code of each variant; `twice`: the block accesses memory once, and so stands there twice.

    `untouched`: how many operands in memory keep their address, since they cannot have a free one.
    """

    code: dict[Memory, bytes]
    twice: bool
    untouched: int
