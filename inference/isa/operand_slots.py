"""Operands that can alias: those of a scheme, their possible contents, and their contents in a block
(§8.1.4).

Operands are counted by kind, as in the published tool: the first register, the second register, the first
memory operand of an instruction, and so on. So "the memory of instruction 1 is that of instruction 2" applies
to `add [m], r` and `vaddps x, x, [m]` alike, wherever the operand stands in the text. Registers are those
that the text names, fixed ones (`cl` of shifts) included, those of an address that is only computed (`lea`),
and a mask. Memory is what explicit operands access, except at absolute addresses.

A register is a set of *units*, as bits of a number: parts of it that are read and written separately. Two
registers overlap exactly if they share a unit, and two operands *match*, that is could alias, if their
possible registers share one. Each flag is a unit as well, from `FIRST_FLAG` on.

The folder of an instruction set defines the units and numbers of its registers; registers of addresses are
numbers of its decoder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeVar

from inference.isa.scheme import Access, Scheme

FIRST_FLAG = 128
"""Smaller units are those of registers."""

LINE = 64
"""Bytes of a cache line, or of half of one."""

MAX_LINES = 4096 // 2 // LINE - 1
"""As many as lie within half a page, without the first."""

Kind = Literal["memory", "register"]


class OperandPlace(NamedTuple):
    """An operand of a block: index of its instruction, its kind, and its number among these; all from 0."""

    instruction: int
    kind: Kind
    number: int


class Address(NamedTuple):
    """The address of a memory operand; 0 for no register, negative displacements plus 2^64."""

    base: int
    index_register: int = 0
    scale: int = 1
    displacement: int = 0
    segment: int = 0


Content = int | Address
"""The content of an operand: the units of a register, or an address."""

Filling = tuple[int | Address, ...]
"""The family of the register, or the address, for each operand of an instruction that can alias."""


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

    @property
    def count(self) -> int:
        """Consecutive registers that it stands for, of which the family is the first one's."""
        return 1

    def fitting(self, units: int) -> int:
        """The `choices` whose register has one of these units, as bits."""
        return self.choices & sum(1 << family for family, bits in self.units.items() if bits & units)


@dataclass(frozen=True, slots=True)
class MemorySlot:
    """A memory operand.

    `fixed` is its address where there is no choice, as for string instructions.

    Attributes:
        indices: The index register in sampled blocks as in `Address`, 0 without.
        reach: Cache lines that its displacement reaches, 0 where it has none.
    """

    fixed: Address | None
    indices: int
    reach: int = MAX_LINES

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
    """The operands of a scheme that can alias, and its implicit operands.

    Attributes:
        distinct: Numbers of registers that must differ for the instruction to be valid.
        bases: Base registers for memory operands with a free address.
        pointing: The families of its fixed base registers, as bits.
        read: The units of implicit flags and registers that it reads.
        written: Operands it writes.
        plain_bases: Base registers for memory operands without displacement, each of another place in memory.
    """

    registers: tuple[RegisterSlot, ...]
    memories: tuple[MemorySlot, ...] = ()
    distinct: tuple[int, ...] = ()
    bases: tuple[int, ...] = ()
    pointing: int = 0
    read: int = 0
    written: int = 0
    plain_bases: tuple[int, ...] = ()

    @cached_property
    def all(self) -> tuple[Slot, ...]:
        """Registers first, then memory; contents of instructions have the same order."""
        return (*self.registers, *self.memories)

    def places(self, instruction: int) -> list[OperandPlace]:
        """The place of each operand, where the scheme is that of this instruction."""
        return [
            *(OperandPlace(instruction, "register", number) for number in range(len(self.registers))),
            *(OperandPlace(instruction, "memory", number) for number in range(len(self.memories))),
        ]

    def index(self, kind: Kind, number: int) -> int | None:
        """The index of an operand in `all`, None where the scheme lacks it."""
        if kind == "register":
            return number if number < len(self.registers) else None
        return len(self.registers) + number if number < len(self.memories) else None


def overlap(first: Content, second: Content) -> bool:
    """Whether two contents of one kind alias: overlapping registers, or equal addresses."""
    if isinstance(first, int) and isinstance(second, int):
        return bool(first & second)
    return first == second


def match(first: Slot, second: Slot) -> bool:
    """Whether two operands could alias."""
    if isinstance(first, RegisterSlot):
        return isinstance(second, RegisterSlot) and bool(first.possible & second.possible)
    return isinstance(second, MemorySlot) and first.matches(second)


class ChoiceError(Exception):
    """No scheme, register or address is left to choose: this attempt failed, another one may succeed."""


@dataclass(frozen=True)
class OperandNames:
    """The names of flags and registers in schemes.

    Attributes:
        flags: The names of all flags.
        register_kinds: {kind, such as `GPR`: pattern of its registers' names, in all widths}.
        uniform: Properties of a `BlockScheme` that are the same for all schemes, or follow from another one:
            `lock`, `rep`, `isa-set`.
    """

    flags: Collection[str] = ()
    register_kinds: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    uniform: Collection[str] = ()


class BlockScheme(Protocol):
    """A scheme as a part of sampled blocks; only the folder knows how to encode it."""

    @property
    def scheme(self) -> Scheme:
        """The scheme that its instances are of."""

    @property
    def slots(self) -> Slots:
        """The operands that can alias: by overlapping registers, or by equal addresses."""

    @property
    def prefix(self) -> str:
        """The prefix before its mnemonic, such as `lock`; "" for none."""

    @property
    def isa_sets(self) -> Sequence[str]:
        """The CPU features that it needs, in the decoder's spelling."""

    @property
    def extension_family(self) -> str:
        """The family of CPU features that contains `isa_sets`."""

    def obstacle(self, groups: frozenset[str]) -> str:
        """Why blocks do not contain it, "" where they do; `groups`: kinds of schemes that are allowed."""


BlockSchemeT = TypeVar("BlockSchemeT", bound=BlockScheme)
FilledInstruction = tuple[tuple[Content, ...], bytes]
"""The contents of an instruction's slots, and its machine code."""

DecodedOperands = tuple[str, tuple[Content, ...], bytes]
"""The text of an instruction's scheme, the contents of its slots, and its bytes."""


class OperandChooser(Protocol[BlockSchemeT]):
    """Schemes as parts of sampled blocks, and the operands of their instructions."""

    @property
    def names(self) -> OperandNames:
        """The names of flags and registers in schemes."""

    def block_schemes(self) -> Mapping[str, BlockSchemeT]:
        """{text: scheme} of all schemes in the order of the catalogue; takes seconds."""

    def block_scheme(self, text: str) -> BlockSchemeT | None:
        """The scheme of a text, None where there is none; quicker than all of them."""

    def filler(self, schemes: Sequence[BlockSchemeT]) -> Callable[[int, Filling], FilledInstruction]:
        """A function from a scheme's index and chosen operands to the instruction; for one thread."""

    def independent_fillings(self, schemes: Sequence[BlockSchemeT]) -> list[Filling]:
        """Operands of a block's instructions with as few dependencies as possible. Raises `ChoiceError`."""

    def decode_operands(self, code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
        """The instructions of machine code by the most special of the schemes in `slots`.

        None for an instruction of another scheme, and for bytes that are no instruction.
        """
