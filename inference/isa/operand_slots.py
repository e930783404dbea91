"""Operands that can alias: which a scheme has, what may stand in them, and what does in a block (§8.1.4).

Operands are counted by kind, as the published tool does it: the first register, the second register, the
first memory operand of an instruction, and so on. So "the memory of instruction 1 is that of instruction 2"
holds for `add [m], r` and `vaddps x, x, [m]` alike, wherever the operand stands in the text. Registers are
those that the text names, those fixed there (`cl` of shifts) included, the registers of an address that is
only computed (`lea`), and a mask. Memory is what explicit operands access, unless its address is an absolute
one.

A register is a set of *units*, as bits of a number: parts of it that are read and written by themselves. Two
registers overlap exactly if they share a unit, and two operands *match*, that is could alias, if their
possible registers share one. Each flag is a unit as well, from `FIRST_FLAG` on.

Which register has which units and number is for the folder of an instruction set to say; registers of
addresses are numbers of its decoder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeVar

from inference.isa.scheme import Access, Scheme

FIRST_FLAG = 128
"""The units below are those of registers."""

Kind = Literal["memory", "register"]


class OperandPlace(NamedTuple):
    """An operand of a block: of which instruction, of which kind, and the how-manieth; all from 0."""

    instruction: int
    kind: Kind
    number: int


class Address(NamedTuple):
    """How a memory operand is written; 0 for no register, negative displacements plus 2^64."""

    base: int
    index_register: int = 0
    scale: int = 1
    displacement: int = 0
    segment: int = 0


Content = int | Address
"""What stands in an operand: the units of a register, or an address."""

Filling = tuple[int | Address, ...]
"""For each operand of an instruction that can alias, the family of its register, or its address."""


@dataclass(frozen=True, slots=True, eq=False)
class RegisterSlot:
    """A register operand; compares by identity.

    Attributes:
        possible: The units of all registers that it could be, by its kind.
        units: {family: units} of the registers that can be encoded; a fixed register has one family.
        choices: The families that random blocks may choose from, as bits.
        access: A write that keeps a part of the register reads it as well.
        avoids_pointers: Whether it is chosen, and written, where registers that hold addresses could stand.
    """

    possible: int
    units: dict[int, int]
    choices: int
    access: Access
    avoids_pointers: bool

    def fitting(self, units: int) -> int:
        """Those of `choices` whose register has one of these units."""
        return self.choices & sum(1 << family for family, own in self.units.items() if own & units)


@dataclass(frozen=True, slots=True)
class MemorySlot:
    """A memory operand.

    `fixed` is the address that it has if there is no choice, as of string instructions. `indices`: the vector
    of indices that sampled blocks use, 0 for an operand without.
    """

    fixed: Address | None
    indices: int

    def matches(self, other: MemorySlot) -> bool:
        """Whether both could have the same address."""
        if self.fixed is not None and other.fixed is not None:
            return self.fixed == other.fixed
        if fixed := self.fixed or other.fixed:
            return not (fixed.index_register or self.indices or other.indices)
        return self.indices == other.indices


Slot = RegisterSlot | MemorySlot


@dataclass(frozen=True)
class Slots:
    """The operands of a scheme that can alias, and what its instructions use besides.

    Attributes:
        distinct: Numbers of registers: it cannot be encoded, or means nothing, unless these differ.
        bases: Registers that its memory can be addressed through where that is chosen.
        pointing: The families of registers that it addresses memory through without a choice, as bits.
        read: The units of flags and of registers that no text names and that it reads.
        written: Those that it writes.
    """

    registers: tuple[RegisterSlot, ...]
    memories: tuple[MemorySlot, ...] = ()
    distinct: tuple[int, ...] = ()
    bases: tuple[int, ...] = ()
    pointing: int = 0
    read: int = 0
    written: int = 0

    @cached_property
    def all(self) -> tuple[Slot, ...]:
        """Registers first, then memory; contents of instructions are in this order."""
        return (*self.registers, *self.memories)

    def places(self, instruction: int) -> list[OperandPlace]:
        """The name of each where the scheme is that of this instruction."""
        return [
            *(OperandPlace(instruction, "register", number) for number in range(len(self.registers))),
            *(OperandPlace(instruction, "memory", number) for number in range(len(self.memories))),
        ]

    def index(self, kind: Kind, number: int) -> int | None:
        """Where among all of them an operand is, None where the scheme has no such one."""
        if kind == "register":
            return number if number < len(self.registers) else None
        return len(self.registers) + number if number < len(self.memories) else None


def overlap(one: Content, other: Content) -> bool:
    """Whether two operands of one kind alias: registers that overlap, addresses that are written alike."""
    if isinstance(one, int) and isinstance(other, int):
        return bool(one & other)
    return one == other


def match(one: Slot, other: Slot) -> bool:
    """Whether two operands could alias at all."""
    if isinstance(one, RegisterSlot):
        return isinstance(other, RegisterSlot) and bool(one.possible & other.possible)
    return isinstance(other, MemorySlot) and one.matches(other)


class ChoiceError(Exception):
    """No scheme, register or address is left: this attempt failed, another may succeed."""


@dataclass(frozen=True)
class OperandNames:
    """How the operands of schemes name flags and registers.

    Attributes:
        flags: The names of all flags.
        register_kinds: {kind, such as `GPR`: the names of its registers, whatever their width}.
    """

    flags: Collection[str] = ()
    register_kinds: Mapping[str, re.Pattern[str]] = field(default_factory=dict)


class BlockScheme(Protocol):
    """A scheme as blocks are made of it: what encodes it is known to the folder alone."""

    @property
    def scheme(self) -> Scheme:
        """What is known of it without measuring."""

    @property
    def slots(self) -> Slots:
        """Its operands that can alias."""

    @property
    def prefix(self) -> str:
        """What stands before its mnemonic, such as `lock`; "" for nothing."""

    @property
    def isa_sets(self) -> Sequence[str]:
        """The CPU features that it needs, by the decoder's names."""

    @property
    def extension_family(self) -> str:
        """The family of CPU features that it belongs to, of which `isa_sets` are members."""

    def obstacle(self, groups: frozenset[str]) -> str:
        """Why blocks do not have it, "" where they do; `groups`: kinds of schemes that they may have."""


BlockSchemeT = TypeVar("BlockSchemeT", bound=BlockScheme)
FilledInstruction = tuple[tuple[Content, ...], bytes]
"""What stands in the slots of an instruction, and its machine code."""
DecodedOperands = tuple[str, tuple[Content, ...], bytes]
"""The text of an instruction's scheme, what stands in the slots of that, and its bytes."""


class OperandChooser(Protocol[BlockSchemeT]):
    """Schemes as blocks are made of them, and the operands of their instructions."""

    @property
    def names(self) -> OperandNames:
        """How schemes name flags and registers."""

    def block_schemes(self) -> Mapping[str, BlockSchemeT]:
        """{text: scheme} of all in the order of the catalogue; takes seconds."""

    def block_scheme(self, text: str) -> BlockSchemeT | None:
        """The scheme of a text, None where there is none; quicker than all of them."""

    def filler(self, schemes: Sequence[BlockSchemeT]) -> Callable[[int, Filling], FilledInstruction]:
        """Makes the instruction of a scheme, given by its place, with chosen operands; in one thread."""

    def independent_fillings(self, schemes: Sequence[BlockSchemeT]) -> list[Filling]:
        """Operands of a block's instructions such that as little as possible waits for something else.

        Raises `ChoiceError`.
        """

    def decoded(self, code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
        """The instructions of machine code by the most special of some schemes, given with their slots.

        None for an instruction of another scheme, and for what is no instruction.
        """
