"""Operands that can alias: which a scheme has, what may stand in them, and what does in a block (§8.1.4).

Operands are counted by kind, as the published tool does it: the first register, the second register, the
first memory operand of an instruction, and so on. So "the memory of instruction 1 is that of instruction 2"
holds for `add [m], r` and `vaddps x, x, [m]` alike, wherever the operand stands in the text. Registers are
those that the text names, those fixed there (`cl` of shifts) included, the registers of an address that is
only computed (`lea`), and the mask of EVEX. Memory is what explicit operands access, unless its address is
an absolute one.

A register is a set of *units*, as bits of a number: two for a general-purpose register (al and the rest of
rax; ah and the rest), one for every other. Two registers overlap exactly if they share a unit, and two
operands *match*, that is could alias, if their possible registers share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, NamedTuple

from iced_x86 import Instruction, OpCodeInfo, Register, RegisterExt

from anica_app.core.domain.sampleable import BASES
from inference.isa.scheme import Access, Operand, Scheme
from inference.isa.x86 import choosing
from inference.isa.x86.choosing import Bank, RegisterChoice, aliases, family_of
from inference.isa.x86.demands import INDICES, demands
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR64, MASK_PAIR, Hole
from inference.isa.x86.iced_types import RegisterValue

Kind = Literal["memory", "register"]
Part = choosing.Part | Literal["fixed"]


class OperandPlace(NamedTuple):
    """An operand of a block: of which instruction, of which kind, and the how-manieth; all from 0."""

    instruction: int
    kind: Kind
    number: int


class Address(NamedTuple):
    """How a memory operand is written, its registers by iced's numbers; negative displacements plus 2^64."""

    base: RegisterValue
    index_register: RegisterValue = Register.NONE
    scale: int = 1
    displacement: int = 0
    segment: int = 0


Content = int | Address
"""What stands in an operand: the units of a register, or an address."""

_LOW, _SECOND = 1, 2
_MERGING = 32
"""A narrower general-purpose register keeps its other bits when it is written."""
_STARTS: dict[Bank, int] = {"general": 0, "vector": 32, "mask": 64, "mmx": 72, "x87": 80}


@dataclass(frozen=True, slots=True)
class RegisterSlot:
    """A register operand. `possible`: the units of all registers that it could be, by its kind.

    `families`: {number: register} that can be encoded; a fixed register has one. `choices`: those that random
    blocks may choose from, as bits. `position`: of the operand that it is (a part of) in the text. `access`:
    a write that keeps a part of the register reads it as well.
    """

    part: Part
    position: int
    bank: Bank
    possible: int
    families: dict[int, RegisterValue]
    units: dict[int, int]
    choices: int
    access: Access
    pair: bool = False

    @property
    def only(self) -> int:
        """The family of a fixed register."""
        return next(iter(self.families))

    @property
    def is_chosen_to_write(self) -> bool:
        """Whether it is a general-purpose register that is written, and not a fixed one."""
        return self.bank == "general" and self.part != "fixed" and "W" in self.access

    def fitting(self, units: int) -> int:
        """Those of `choices` whose register has one of these units."""
        return self.choices & sum(1 << family for family, own in self.units.items() if own & units)

    def content(self, instruction: Instruction) -> int:
        """The units of the register that stands here in a decoded instruction."""
        if self.part == "fixed":
            return self.possible
        if self.part == "base":
            register = instruction.memory_base
        elif self.part == "index":
            register = instruction.memory_index
        elif self.part == "mask":
            register = instruction.op_mask
        else:
            register = instruction.op_register(self.position)
        found = units(register)
        return found | found << 1 if self.pair else found


@dataclass(frozen=True, slots=True)
class MemorySlot:
    """A memory operand.

    `fixed` is the address that it has if there is no choice, as of string instructions. `indices`: the vector
    of indices that sampled blocks use, 0 for an operand without.
    """

    position: int
    fixed: Address | None
    indices: RegisterValue

    def content(self, instruction: Instruction) -> Address:
        """The address that stands here in a decoded instruction."""
        return self.fixed or Address(
            instruction.memory_base,
            instruction.memory_index,
            instruction.memory_index_scale,
            instruction.memory_displacement,
            instruction.segment_prefix,
        )

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
    """The operands of a scheme that can alias.

    `needs_low_base`: its memory has to be addressed through a register that needs no REX prefix. `distinct`:
    it cannot be encoded, or means nothing, unless its vector registers differ. `pointing`: the families of
    general-purpose registers that it addresses memory through without a choice, as bits.
    """

    registers: tuple[RegisterSlot, ...]
    memories: tuple[MemorySlot, ...]
    needs_low_base: bool
    distinct: bool
    pointing: int = 0

    @cached_property
    def all(self) -> tuple[Slot, ...]:
        """Registers first, then memory; contents of instructions are in this order."""
        return (*self.registers, *self.memories)

    def contents(self, instruction: Instruction) -> tuple[Content, ...]:
        """What stands in them in a decoded instruction."""
        return tuple(slot.content(instruction) for slot in self.all)

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


_PARTS: tuple[choosing.Part, ...] = ("register", "base", "index")
"""Parts of an operand, in the order in which they are counted."""


def slots(scheme: Scheme, form: Form) -> Slots:
    """The operands of a scheme that can alias."""
    wanted = demands(scheme, form)
    chosen = {(choice.position, choice.part): choice for choice in wanted.choices}
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    registers: list[RegisterSlot] = []
    memories: list[MemorySlot] = []
    swapped = _accumulator(form) if scheme.mnemonic == "xchg" else None
    for position, hole in enumerate(form.holes):
        if hole.kind == "register" and hole.fixed:
            registers.append(_fixed(position, hole, explicit[position]))
        elif hole.kind == "memory" and hole.shape != "moffs":
            memories.append(MemorySlot(position, _fixed_address(hole), wanted.index or Register.NONE))
        registers += [
            _slot(chosen[position, part], explicit, swapped, indexed=wanted.index is not None)
            for part in _PARTS
            if (position, part) in chosen
        ]
    if (mask := chosen.get((0, "mask"))) is not None:
        registers.append(_slot(mask, explicit))
    info = OpCodeInfo(form.code)
    distinct = info.requires_unique_reg_nums or info.requires_unique_dest_reg_num
    bases = {memory.fixed.base for memory in memories if memory.fixed is not None}
    pointing = sum(1 << family_of(base)[1] for base in bases)
    return Slots(tuple(registers), tuple(memories), wanted.low_base, distinct, pointing)


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


@cache
def units(register: RegisterValue) -> int:
    """The units of a register that instructions compute with, as bits of a number."""
    bank, family = family_of(register)
    start = _STARTS[bank]
    if bank != "general":
        return 1 << (start + family)
    if RegisterExt.is_gpr8(register):
        part = _SECOND if Register.AH <= register <= Register.BH else _LOW
    else:
        part = _LOW | _SECOND
    return part << (start + 2 * family)


def effective_access(operand: Operand, *, general: bool) -> Access:
    """That of a register operand; a narrow write to a general-purpose register reads what it keeps."""
    return "RW" if general and operand.access == "W" and operand.width < _MERGING else operand.access


def _effective(operand: Operand, bank: Bank) -> Access:
    return effective_access(operand, general=bank == "general")


def _accumulator(form: Form) -> int | None:
    """The family of the fixed register, None where there is none: swapped with itself it would be a nop."""
    return next((family_of(hole.registers[0])[1] for hole in form.holes if hole.fixed), None)


def _slot(
    choice: RegisterChoice, explicit: Sequence[Operand], never: int | None = None, *, indexed: bool = False
) -> RegisterSlot:
    hole = choice.hole or GPR64.name  # parts of addresses have no hole of their own
    kept = (*BASES, never) if choice.bank == "general" else (INDICES,) if indexed else ()
    possible = 0
    for register in aliases(hole).values():
        possible |= units(register)
    return RegisterSlot(
        choice.part,
        choice.position,
        choice.bank,
        possible,
        choice.registers,
        {family: units(one) for family, one in choice.registers.items()},
        sum(1 << family for family in choice.registers if family not in kept),
        _effective(explicit[choice.position], choice.bank) if choice.part == "register" else "R",
        hole == MASK_PAIR.name,
    )


def _fixed(position: int, hole: Hole, operand: Operand) -> RegisterSlot:
    register = hole.registers[0]
    found = units(register)
    bank, family = family_of(register)
    access = _effective(operand, bank)
    return RegisterSlot(
        "fixed", position, bank, found, {family: register}, {family: found}, 1 << family, access
    )


def _fixed_address(hole: Hole) -> Address | None:
    if hole.shape == "rsi":
        return Address(Register.RSI)
    if hole.shape == "rdi":
        return Address(Register.RDI)
    if hole.shape == "rbx+al":
        return Address(Register.RBX, Register.AL)
    return None
