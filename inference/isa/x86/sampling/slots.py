"""The operands of x86-64's schemes that can alias, and their contents.

A general-purpose register has two units (al and the rest of rax; ah and the rest), every other has one. The
mask of EVEX is a register, memory is what explicit operands access, except at absolute addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from iced_x86 import Instruction, OpCodeInfo, Register, RegisterExt

from inference.isa.operand_slots import FIRST_FLAG, Address, Content, MemorySlot, RegisterSlot, Slots
from inference.isa.scheme import Access, Operand, Scheme
from inference.isa.x86 import register_choices
from inference.isa.x86.demands import INDEX_VECTOR, Demands, demands
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR64, MASK_PAIR, Hole
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.register_choices import RBP, Bank, RegisterChoice, aliases, family_of
from inference.isa.x86.sampling.names import FLAGS
from inference.isa.x86.sampling.sampleable import BASES

Part = register_choices.Part | Literal["fixed"]

_LOW, _SECOND = 1, 2  # bytes of a register, as bits
_MERGING = 32
"""Narrower general-purpose registers keep their other bits when written."""

_STARTS: dict[Bank, int] = {"general": 0, "vector": 32, "mask": 64, "mmx": 72, "x87": 80}
_PARTS: tuple[register_choices.Part, ...] = ("register", "base", "index")
"""Parts of an operand, in the order in which they are counted."""

_ANY_BASES = tuple(aliases(GPR64.name)[family] for family in BASES)
_FIXED_BASES = {"rsi": Register.RSI, "rdi": Register.RDI, "rbx+al": Register.RBX}
_LOW_BASES = (aliases(GPR64.name)[RBP],)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRegister(RegisterSlot):
    """A register operand and its encoding.

    Attributes:
        position: Position of the operand in the text that it is, or belongs to.
        registers: {family: register} that can be encoded.
        pair: Whether it is the first of two registers.
    """

    part: Part
    position: int
    bank: Bank
    registers: dict[int, RegisterValue]
    pair: bool = False

    @property
    def only(self) -> int:
        return next(iter(self.registers))

    def content(self, instruction: Instruction) -> int:
        """The units of the operand's register in a decoded instruction."""
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
        register_units = units(register)
        return register_units | register_units << 1 if self.pair else register_units


@dataclass(frozen=True)
class EncodedSlots(Slots):
    """The operands of a scheme of x86-64 that can alias."""

    registers: tuple[EncodedRegister, ...]

    def contents(self, instruction: Instruction) -> tuple[Content, ...]:
        registers = [slot.content(instruction) for slot in self.registers]
        if not self.memories:
            return tuple(registers)
        return (*registers, *[slot.fixed or _address(instruction) for slot in self.memories])


# Equal ones are one object: there are few, and sampling goes through what the processor's caches have.
_memory, _slots = cache(MemorySlot), cache(EncodedSlots)


def _address(instruction: Instruction) -> Address:
    return Address(
        instruction.memory_base,
        instruction.memory_index,
        instruction.memory_index_scale,
        instruction.memory_displacement,
        instruction.segment_prefix,
    )


def slots(scheme: Scheme, form: Form) -> EncodedSlots:
    """The operands of a scheme that a random block chooses, and the registers that are fixed."""
    needs = demands(scheme, form)
    registers = tuple(_registers(scheme, form, needs))
    holes = [hole for hole in form.holes if hole.kind == "memory" and hole.shape != "moffs"]
    memories = tuple(_memory(_fixed_address(hole), needs.index or Register.NONE) for hole in holes)
    info = OpCodeInfo(form.code)
    distinct = info.requires_unique_reg_nums or info.requires_unique_dest_reg_num
    vectors = tuple(number for number, slot in enumerate(registers) if slot.bank == "vector")
    fixed_bases = {_FIXED_BASES[hole.shape] for hole in holes if hole.shape in _FIXED_BASES}
    read, written = _implicit_units(scheme)
    return _slots(
        registers,
        memories,
        vectors if distinct else (),
        _LOW_BASES if needs.low_base else _ANY_BASES,
        sum(1 << family_of(base)[1] for base in fixed_bases),
        read,
        written,
    )


def _registers(scheme: Scheme, form: Form, needs: Demands) -> Iterator[EncodedRegister]:
    choices = {(choice.position, choice.part): choice for choice in needs.choices}
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    swapped = _accumulator(form) if scheme.mnemonic == "xchg" else None
    for position, hole in enumerate(form.holes):
        if hole.kind == "register" and hole.fixed:
            yield _fixed_register(position, hole, explicit[position])
        for part in _PARTS:
            if (choice := choices.get((position, part))) is not None:
                yield _slot(choice, explicit, swapped, indexed=needs.index is not None)
    if (mask := choices.get((0, "mask"))) is not None:
        yield _slot(mask, explicit)


@cache
def units(register: RegisterValue) -> int:
    """The units of a register, as bits of a number."""
    bank, family = family_of(register)
    start = _STARTS[bank]
    if bank != "general":
        return 1 << (start + family)
    if RegisterExt.is_gpr8(register):
        part = _SECOND if Register.AH <= register <= Register.BH else _LOW
    else:
        part = _LOW | _SECOND
    return part << (start + 2 * family)


def _accumulator(form: Form) -> int | None:
    """The family of the fixed register, None without: exchanged with itself it would be a NOP."""
    return next((family_of(hole.registers[0])[1] for hole in form.holes if hole.fixed), None)


def _slot(
    choice: RegisterChoice, explicit: Sequence[Operand], never: int | None = None, *, indexed: bool = False
) -> EncodedRegister:
    hole = choice.hole or GPR64.name  # parts of addresses have no hole of their own
    is_general = choice.bank == "general"
    excluded = (*BASES, never) if is_general else (INDEX_VECTOR,) if indexed else ()
    possible = 0
    for register in aliases(hole).values():
        possible |= units(register)
    access = _effective_access(explicit[choice.position], is_general) if choice.part == "register" else "R"
    return _register(
        choice.part,
        choice.position,
        choice.bank,
        tuple(choice.registers.items()),
        possible,
        sum(1 << family for family in choice.registers if family not in excluded),
        access,
        avoids_pointers=is_general and "W" in access,
        pair=hole == MASK_PAIR.name,
    )


def _fixed_register(position: int, hole: Hole, operand: Operand) -> EncodedRegister:
    register = hole.registers[0]
    bank, family = family_of(register)
    access = _effective_access(operand, bank == "general")
    registers = ((family, register),)
    return _register("fixed", position, bank, registers, units(register), 1 << family, access)


@cache
def _register(
    part: Part,
    position: int,
    bank: Bank,
    registers: tuple[tuple[int, RegisterValue], ...],
    possible: int,
    choices: int,
    access: Access,
    *,
    avoids_pointers: bool = False,
    pair: bool = False,
) -> EncodedRegister:
    """The unique slot with these properties (see `_slots`)."""
    return EncodedRegister(
        possible=possible,
        units={family: units(register) for family, register in registers},
        choices=choices,
        access=access,
        avoids_pointers=avoids_pointers,
        part=part,
        position=position,
        bank=bank,
        registers=dict(registers),
        pair=pair,
    )


def _effective_access(operand: Operand, is_general: bool) -> Access:
    """The access; a narrow write to a general-purpose register also reads it."""
    return "RW" if is_general and operand.access == "W" and operand.width < _MERGING else operand.access


def _fixed_address(hole: Hole) -> Address | None:
    base = _FIXED_BASES.get(hole.shape)
    if base is None:
        return None
    return Address(base, Register.AL if hole.shape == "rbx+al" else Register.NONE)


def _implicit_units(scheme: Scheme) -> tuple[int, int]:
    """The units of implicit flags and registers that instructions read and write."""
    read = written = addressing = 0
    for operand in scheme.operands:
        if operand.kind == "memory":
            addressing |= _units_named(operand)
        elif operand.implicit and operand.kind in ("register", "flags"):
            named = _units_named(operand)
            access = _effective_access(operand, operand.kind == "register")
            read |= named if "R" in access else 0
            written |= named if "W" in access else 0
    return read & ~addressing, written


def _units_named(operand: Operand) -> int:
    """The units of an operand's registers or flags."""
    named_units = 0
    for name in operand.registers:
        if operand.kind == "flags":
            named_units |= 1 << FIRST_FLAG + FLAGS.index(name)
        elif _is_computed_with(register := getattr(Register, name.upper())):
            named_units |= units(register)
    return named_units


def _is_computed_with(register: RegisterValue) -> bool:
    """False for control, debug and segment registers."""
    return (
        RegisterExt.is_gpr(register)
        or RegisterExt.is_vector_register(register)
        or RegisterExt.is_mm(register)
        or RegisterExt.is_st(register)
        or RegisterExt.is_k(register)
    )
