"""Schemes of x86-64 in sampled blocks, and their instructions with chosen operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from iced_x86 import Encoder, Instruction, Register

from inference.isa.operand_slots import Address, ChoiceError, Content, FilledInstruction, Filling
from inference.isa.scheme import Scheme
from inference.isa.x86.allocation import AllocationError, Allocator
from inference.isa.x86.assembling import pattern, set_register
from inference.isa.x86.demands import Demands, demands
from inference.isa.x86.forms import Form, features
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE
from inference.isa.x86.sampling.names import extension_family
from inference.isa.x86.sampling.sampleable import sampling_obstacle
from inference.isa.x86.sampling.slots import EncodedSlots, slots

_SMALLEST_BYTE, _LARGEST_BYTE = -128, 127  # displacements that one byte holds


@dataclass(frozen=True, eq=False)
class X86BlockScheme:
    scheme: Scheme
    form: Form

    @cached_property
    def independent_demands(self) -> Demands:
        """Demands without dependency breakers, which blocks do not contain."""
        all_demands = demands(self.scheme, self.form)
        choices = tuple(choice for choice in all_demands.choices if choice.part != "breaker")
        return replace(all_demands, choices=choices, breakers=())

    @cached_property
    def slots(self) -> EncodedSlots:
        return slots(self.scheme, self.form)

    @property
    def prefix(self) -> str:
        """The prefix before its mnemonic, "" for none."""
        return self.form.prefix

    @property
    def isa_sets(self) -> Sequence[str]:
        """The CPU features that it needs, in iced's spelling."""
        return features(self.form.code)

    @property
    def extension_family(self) -> str:
        return extension_family(self.scheme.extension)

    def obstacle(self, groups: frozenset[str]) -> str:
        """Why blocks do not contain it unless other groups are requested."""
        return sampling_obstacle(self.scheme, self.form, groups)


def filler(schemes: Sequence[X86BlockScheme]) -> Callable[[int, Filling], FilledInstruction]:
    """See `OperandChooser`. Each returned function has its own encoder."""
    encoder = Encoder(64)
    plans: dict[int, tuple[Instruction, EncodedSlots]] = {}

    def filled(number: int, filling: Filling) -> FilledInstruction:
        if number not in plans:
            plans[number] = pattern(schemes[number].form), schemes[number].slots
        template, slots = plans[number]
        instruction = template.copy()
        contents: list[Content] = []
        for slot, family in zip(slots.registers, filling, strict=False):  # memory comes after them
            assert isinstance(family, int), "registers are chosen by family"
            set_register(instruction, slot.part, slot.position, slot.registers[family])
            contents.append(slot.units[family])
        for memory in slots.memories:
            address = filling[len(contents)]
            assert isinstance(address, Address), "memory is chosen by address"
            if memory.fixed is None:
                _point(instruction, address)
            contents.append(address)
        try:
            encoder.encode(instruction, ADDRESS_OF_CODE)
        finally:
            code = encoder.take_buffer()
        return tuple(contents), code

    return filled


def _point(instruction: Instruction, address: Address) -> None:
    signed = address.displacement - 2**64 * (address.displacement >> 63)
    instruction.memory_base = cast(RegisterValue, address.base)
    instruction.memory_index = cast(RegisterValue, address.index_register)
    instruction.memory_displacement = address.displacement
    if not signed:
        instruction.memory_displ_size = 0
    else:
        instruction.memory_displ_size = 1 if _SMALLEST_BYTE <= signed <= _LARGEST_BYTE else 8


def independent_fillings(schemes: Sequence[X86BlockScheme]) -> list[Filling]:
    """Operands for predictors without dependencies, such as port mappings. Raises `ChoiceError`.

    A block has as few dependencies as possible (Algorithm 3.1): registers and memory that are read are never
    written, and written ones take turns. The remaining dependencies are those of operands that an instruction
    both reads and writes, once per execution of the block, and fixed operands: flags, rax of a
    multiplication.
    """
    try:
        allocator = Allocator([scheme.independent_demands for scheme in schemes])
    except AllocationError as error:
        raise ChoiceError from error
    return [_fill(scheme.slots, scheme.independent_demands, allocator) for scheme in schemes]


def _fill(slots: EncodedSlots, demands: Demands, allocator: Allocator) -> Filling:
    families = allocator.registers(demands)
    choice_places: dict[tuple[int, str], int] = {
        (choice.position, choice.part): family
        for choice, family in zip(demands.choices, families, strict=True)
    }
    base = Register.RSI if demands.low_base else Register.R14
    registers = [choice_places.get((slot.position, slot.part), slot.only) for slot in slots.registers]
    memories = [
        slot.fixed or Address(base, slot.indices, 1, _offset(demands, allocator)) for slot in slots.memories
    ]
    return (*registers, *memories)


def _offset(demands: Demands, allocator: Allocator) -> int:
    return allocator.slot(demands.memory or "R", demands.memory_bytes) % 2**64
