"""The operands of schemes of words that can alias, and their contents.

A register is one unit, since writes of a part that keep the rest read it as well. The zero register has no
unit. Registers of addresses have the numbers of the architecture plus 1, in `Address`; its index register
also holds how the index is extended and shifted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inference.isa.document import OperandForm
from inference.isa.operand_slots import (
    FIRST_FLAG,
    MAX_LINES,
    Address,
    Content,
    MemorySlot,
    OperandNames,
    RegisterSlot,
    Slots,
)
from inference.isa.scheme import Operand, Scheme
from inference.isa.words.accesses import (
    FLOAT,
    GENERAL,
    VECTOR,
    ZERO,
    InMemory,
    OperandValue,
    RegisterPart,
)
from inference.isa.words.allocation import LOAD_BASE, STORE_BASE, OperandChoice, OperandDemands


class OperandLayout(NamedTuple):
    """The registers and memory of sampled blocks of an instruction set.

    Attributes:
        names: Names of flags and registers in schemes.
        forms: Forms of operands, by name.
        numbers: {bank: numbers of its registers that have units}.
        choices: Numbers of general-purpose registers that random blocks choose.
        bank_of: The allocator's bank of an operand's registers.
        bases: Registers through which blocks address memory with a displacement.
        plain_bases: The same without displacement: some accesses move them.
        index_register: The register with indices.

    No operand names registers of addresses; only their own accesses move them.
    """

    names: OperandNames
    forms: Callable[[], Mapping[str, OperandForm]]
    numbers: Mapping[str, Sequence[int]]
    choices: Sequence[int]
    bank_of: Callable[[OperandForm], str]
    bases: Sequence[int]
    plain_bases: Sequence[int]
    index_register: int


_REGISTERS = 32  # of each bank
_STARTS = {GENERAL: 0, VECTOR: _REGISTERS, FLOAT: 2 * _REGISTERS}  # of the units of a bank
_NEAR_LINES = 3
"""Reach of the shortest displacement, that of pairs of 32 bits: 252 bytes."""

_EXTENSIONS = ("", "lsl", "uxtw", "sxtw", "sxtx")
_FIELD = re.compile(r"\{([a-z]+)(?:32)?\}")


@dataclass(frozen=True, slots=True, eq=False)
class NumberedRegister(RegisterSlot):
    """A register operand: its place among the explicit operands, and its demand on the allocator."""

    place: int
    bank: str
    choice: OperandChoice

    @property
    def count(self) -> int:
        return self.choice.span

    def content(self, operand: OperandValue) -> int:
        """The units of the operand of a decoded instruction."""
        if not isinstance(operand, RegisterPart) or operand.bank == ZERO:
            return 0
        return units(operand.bank, operand.number, operand.span)


_NO_DEMANDS = OperandDemands(())


@dataclass(frozen=True)
class WordSlots(Slots):
    """The operands of a scheme that can alias.

    Attributes:
        memory_place: Memory place of its memory operand among the explicit operands, None without.
        demands: On the allocator of independent operands.
    """

    registers: tuple[NumberedRegister, ...]
    memory_place: int | None = None
    demands: OperandDemands = _NO_DEMANDS

    def contents(self, operands: Sequence[OperandValue]) -> tuple[Content, ...]:
        registers = [slot.content(operands[slot.place]) for slot in self.registers]
        if self.memory_place is None:
            return tuple(registers)
        memory = operands[self.memory_place]
        return (*registers, address_of(memory) if isinstance(memory, InMemory) else Address(0))


def slots(scheme: Scheme, layout: OperandLayout) -> WordSlots:
    """The operands of a scheme that a random block chooses, and its flags."""
    registers = tuple(_registers(scheme, layout))
    place = next((k for k, part in enumerate(_explicit(scheme)) if part.kind == "memory"), None)
    memory = None if place is None else scheme.operands[place]
    fields = () if memory is None else _FIELD.findall(layout.forms()[memory.name].assembly)
    read, written = _flags(scheme, tuple(layout.names.flags))
    loads_pair = memory is not None and "R" in memory.access and len(registers) > 1
    return WordSlots(
        registers=registers,
        memories=()
        if memory is None
        else (_memory(layout.forms()[memory.name].assembly, fields, layout.index_register),),
        distinct=tuple(range(len(registers))) if loads_pair else (),
        bases=_register_numbers(layout.bases),
        plain_bases=_register_numbers(layout.plain_bases),
        read=read,
        written=written,
        memory_place=place,
        demands=_demands(scheme, registers, memory, fields),
    )


def address_of(memory: InMemory) -> Address:
    """The accessed address; what a base moves by afterwards is no part of it."""
    base = 0 if memory.base is None else memory.base + 1
    if memory.moves == "post":
        return Address(base)
    index = 0
    if memory.index is not None and memory.index.bank != ZERO:
        index = _packed_index(memory.index.number, memory.extend, memory.shift)
    return Address(base, index, 1, memory.displacement % 2**64, int(memory.page))


def units(bank: str, number: int, span: int = 1) -> int:
    """The units of consecutive registers, as bits of a number; the last register is followed by the first."""
    return sum(1 << _STARTS[bank] + (number + k) % _REGISTERS for k in range(span))


def _explicit(scheme: Scheme) -> list[Operand]:
    return [operand for operand in scheme.operands if not operand.implicit]


def _registers(scheme: Scheme, layout: OperandLayout) -> Iterator[NumberedRegister]:
    for place, operand in enumerate(_explicit(scheme)):
        form = layout.forms()[operand.name]
        if operand.kind != "register" or not form.bank:
            continue
        below = min(form.registers_below, _REGISTERS)
        numbers = [number for number in layout.numbers[form.bank] if number < below]
        firsts = layout.choices if form.bank == GENERAL else range(below - form.span + 1)
        yield NumberedRegister(
            possible=sum(units(form.bank, number) for number in numbers),
            units={number: units(form.bank, number, form.span) for number in numbers},
            choices=sum(1 << first for first in firsts),
            access=operand.access,
            avoids_pointers=False,
            place=place,
            bank=form.bank,
            choice=OperandChoice(layout.bank_of(form), operand.access or "R", form.span, below),
        )


def _memory(assembly: str, fields: Sequence[str], index: int) -> MemorySlot:
    if "index" in fields:
        *_, extension = assembly.strip("[]!").split(", ")
        word, _, amount = extension.partition(" #")
        is_extended = word in _EXTENSIONS[1:]
        return MemorySlot(None, _packed_index(index, word if is_extended else "lsl", int(amount or 0)), 0)
    return MemorySlot(None, 0, MAX_LINES if "offset" in fields else _NEAR_LINES if "near" in fields else 0)


def _packed_index(number: int, extend: str, shift: int) -> int:
    return (number + 1) | _EXTENSIONS.index(extend or "lsl") << 8 | shift << 16


def _register_numbers(registers: Sequence[int]) -> tuple[int, ...]:
    return tuple(number + 1 for number in registers)


def _flags(scheme: Scheme, names: Sequence[str]) -> tuple[int, int]:
    """The flags that instructions read, and those that they write."""
    read = written = 0
    for operand in scheme.operands:
        if operand.kind == "flags":
            named = sum(1 << FIRST_FLAG + names.index(name) for name in operand.registers)
            read |= named if "R" in operand.access else 0
            written |= named if "W" in operand.access else 0
    return read, written


def _demands(
    scheme: Scheme, registers: Sequence[NumberedRegister], memory: Operand | None, fields: Sequence[str]
) -> OperandDemands:
    choices = tuple(slot.choice for slot in registers)
    if memory is None:
        return OperandDemands(choices)
    if "base" not in fields:
        return OperandDemands(choices, "R" if memory.access == "R" else "W", "near" in fields)
    moves = any(operand.name == "base" for operand in scheme.operands if operand.implicit)
    bank = LOAD_BASE if memory.access == "R" else STORE_BASE
    return OperandDemands((*choices, OperandChoice(bank, "RW" if moves else "R")))
