"""Changes of a block that show why tools disagree about it.

In the steady state a block waits only for what one execution passes to the next: through a register, the
flags, or a place in memory. Each of these ways, a *carrier*, can be cut by an instruction that overwrites it
and reads nothing that the block writes. The instruction stands once before several copies of the block, so
that its own cost hardly counts. A tool may wait again in each copy; then one cut is too few, and the
instruction stands before each instruction that reads the carrier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

COPIES = 4
"""Copies of the block behind the instructions that cut its carriers."""

NOPS_PER_BLOCK = 4
"""NOPs added to so many copies: they only need issue slots."""


class CarrierRole(StrEnum):
    ACCUMULATOR = "accumulator"
    """One instruction reads and writes it."""
    RESULT = "result"
    """No instruction reads it: a tool that waits for it takes a write for a read."""
    BETWEEN = "between"
    """One instruction reads it, and another one writes it."""


class CarrierKind(StrEnum):
    """The kinds of storage that pass a value from one execution of a block to the next."""

    REGISTER = "register"
    FLAGS = "flags"
    MEMORY = "memory"
    STACK = "stack pointer"


@dataclass(frozen=True, slots=True)
class Carrier:
    """A register or place in memory that a block writes, or flags that it reads or writes.

    `name` is for readers.

    `instructions`: indices of the writers, from 0; empty for flags that are only read, which some processors
    take to be written by a shift by 0.
    """

    kind: CarrierKind
    name: str
    role: CarrierRole
    instructions: tuple[int, ...] = ()


class ChangeKind(StrEnum):
    REPEATED = "repeated"
    CUT_ALL = "all dependencies cut"
    CUT = "one dependency cut"
    CUT_EVERYWHERE = "all dependencies cut in each copy"
    CUT_SINGLE_EVERYWHERE = "one dependency cut in each copy"
    PADDED = "padded"
    UNLOCKED = "lock prefixes left out"
    LOADS_FIRST = "loads before stores"
    REGISTERS = "registers in place of loads"


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A changed block: `code` contains `copies` copies of it. `cut`: the carriers that are cut."""

    kind: ChangeKind
    code: bytes
    copies: int
    cut: tuple[Carrier, ...] = ()


class ChangedBlock(Protocol):
    """A block and its changes; methods return [] where a change is impossible or makes no difference."""

    @property
    def copies(self) -> int:
        """Copies of the block in each change."""

    @property
    def carriers(self) -> tuple[Carrier, ...]: ...

    def initial_changes(self) -> list[BlockChange]:
        """The changes to try with every block: repeated, padded, and all carriers cut."""

    def single_cuts(self) -> list[BlockChange]:
        """One change per carrier; [] for fewer than two carriers."""

    def cut_everywhere(self) -> list[BlockChange]:
        """All registers and flags cut before each instruction that reads them."""

    def single_cuts_everywhere(self) -> list[BlockChange]:
        """The changes that cut one carrier at a time; [] for fewer than two carriers."""

    def loads_before_stores(self) -> list[BlockChange]:
        """The copies with all loads before all stores."""

    def registers_for_loads(self) -> list[BlockChange]:
        """The copies with registers in place of loaded operands; [] where that would cut a dependency."""

    def cut(self, carriers: Sequence[Carrier], kind: ChangeKind) -> BlockChange:
        """The copies of the block behind instructions that overwrite these carriers."""


MAX_CHANGED_INSTRUCTIONS = 32  # of all copies of a changed block


class CuttableBlock:
    """The changes of a block that any instruction set has, by the instructions that cut its carriers.

    Args:
        steps: The machine code of each instruction.
        breakers: {carrier: machine code that cuts it}.
        readers: {carrier: indices of the instructions that read it}.
        no_op: Machine code that only needs an issue slot.
    """

    def __init__(
        self,
        steps: Sequence[bytes],
        breakers: Mapping[Carrier, bytes],
        readers: Mapping[Carrier, Sequence[int]],
        no_op: bytes,
    ) -> None:
        self.copies = max(1, min(COPIES, MAX_CHANGED_INSTRUCTIONS // len(steps)))
        self._steps = steps
        self._breakers = breakers
        self._readers = readers
        self._no_op = no_op

    @property
    def carriers(self) -> tuple[Carrier, ...]:
        return tuple(self._breakers)

    @property
    def code(self) -> bytes:
        return b"".join(self._steps)

    def initial_changes(self) -> list[BlockChange]:
        repeated = self.code * self.copies
        changes = [
            BlockChange(ChangeKind.REPEATED, repeated, self.copies),
            BlockChange(ChangeKind.PADDED, repeated + self._no_op * NOPS_PER_BLOCK, self.copies),
        ]
        return [*changes, self.cut(self.carriers, ChangeKind.CUT_ALL)] if self._breakers else changes

    def single_cuts(self) -> list[BlockChange]:
        return [self.cut((way,), ChangeKind.CUT) for way in self.carriers] if len(self._breakers) > 1 else []

    def cut_everywhere(self) -> list[BlockChange]:
        carriers = self._read_carriers()
        return [self._cut_everywhere(carriers, ChangeKind.CUT_EVERYWHERE)] if carriers else []

    def single_cuts_everywhere(self) -> list[BlockChange]:
        carriers = self._read_carriers()
        if len(carriers) < 2:
            return []
        return [self._cut_everywhere([carrier], ChangeKind.CUT_SINGLE_EVERYWHERE) for carrier in carriers]

    def cut(self, carriers: Sequence[Carrier], kind: ChangeKind) -> BlockChange:
        code = b"".join(self._breakers[carrier] for carrier in carriers)
        return BlockChange(kind, code + self.code * self.copies, self.copies, tuple(carriers))

    @property
    def _is_loaded_again(self) -> bool:
        """Whether the block loads what it stores."""
        stored = [carrier for carrier in self.carriers if carrier.kind is CarrierKind.MEMORY]
        return any(carrier.role is not CarrierRole.RESULT for carrier in stored)

    def _read_carriers(self) -> list[Carrier]:
        return [
            carrier
            for carrier in self.carriers
            if carrier.kind in (CarrierKind.REGISTER, CarrierKind.FLAGS) and self._readers[carrier]
        ]

    def _cut_everywhere(self, carriers: Sequence[Carrier], kind: ChangeKind) -> BlockChange:
        code = b"".join(
            b"".join(self._breakers[way] for way in carriers if number in self._readers[way]) + step
            for number, step in enumerate(self._steps)
        )
        return BlockChange(kind, code * self.copies, self.copies, tuple(carriers))


OFFSET_DISTANCE = 128
"""Bytes between two offsets: larger than any operand, and on another cache line."""


class AddressRelation(StrEnum):
    SAME = "same address"
    OFFSET = "other offset"
    BASE = "other base"


@dataclass(frozen=True)
class MemoryVariants:
    """The machine code of each variant.

    Attributes:
        twice: The block accesses memory once, so the variants contain it twice.
        untouched: The number of memory operands that keep their address, as it is not free to choose.
    """

    code: dict[AddressRelation, bytes]
    twice: bool
    untouched: int
